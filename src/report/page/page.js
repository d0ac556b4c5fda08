/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the plots of the page. The data's form is described in src/report/plot.h. Texts come from
 * anywhere: they are only ever set as text. */
(function () {
  'use strict';

  const root = document.documentElement;
  const plots = JSON.parse(document.getElementById('data').textContent).plots;
  const charts = [];
  const hidden = plots.map(function () { return new Set(); });
  const reduced = 8; /* colours before they repeat */

  /* --- numbers ---------------------------------------------------------------------------- */

  const prefixes = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']];
  const durations = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

  const prefixed = new Set(['W', 'FLOP/s', 'samples/s', 'queries/s']);

  function digits(value) {
    return String(Number(value.toPrecision(3)));
  }
  function scaled(value, steps, gap) {
    const size = Math.abs(value);
    if (size === 0 || !isFinite(size)) {
      return '0' + (gap && steps === durations ? ' s' : '');
    }
    const step = steps.find(function (s) { return size >= s[0] * 0.9995; }) || steps[steps.length - 1];
    return digits(value / step[0]) + (step[1] === '' ? '' : gap + step[1]);
  }
  /* As a tick: the unit stands at the axis, unless it changes with the size. */
  function tick(value, unit) {
    if (unit === 'ns') {
      return scaled(value, durations, ' ');
    }
    if (unit === 'J') {
      return scaled(value, prefixes, ' ') + (Math.abs(value) >= 0.9995 && Math.abs(value) < 999.5 || value === 0 ? ' J' : 'J');
    }
    return prefixed.has(unit) ? scaled(value, prefixes, ' ') : digits(value);
  }
  function words(value, unit) {
    if (unit === 'ns' || unit === 'J') {
      return tick(value, unit);
    }
    const text = tick(value, unit);
    const glued = / [a-zA-Zµ]$/.test(text);
    return unit === '' ? text : text + (glued ? '' : ' ') + unit;
  }
  function ninesWords(value) {
    return value <= 0 ? '0' : String(Number((100 * (1 - Math.pow(10, -value))).toPrecision(Math.max(2, Math.ceil(value) + 1))));
  }

  /* --- looks ------------------------------------------------------------------------------ */

  /* What stands in the style sheet for this scheme; paper is always light. */
  function look(printing) {
    const probe = getComputedStyle(root);
    const get = function (name) { return probe.getPropertyValue(name).trim(); };
    if (printing) {
      return { ink: '#1b1f24', quiet: '#57606b', rule: '#dde1e6', paper: '#ffffff',
        series: ['#1f6fb2', '#bd5212', '#2c7d3f', '#8148a0', '#8d6a00', '#b02f58', '#217482', '#5f6670'] };
    }
    const series = [];
    for (let i = 0; i < reduced; i++) {
      series.push(get('--s' + i));
    }
    return { ink: get('--ink'), quiet: get('--quiet'), rule: get('--rule'), paper: get('--paper'), series: series };
  }
  function faint(colour, alpha) {
    return colour + Math.round(alpha * 255).toString(16).padStart(2, '0');
  }
  const shapes = ['circle', 'rect', 'triangle', 'rectRot', 'crossRot', 'star', 'cross', 'dash'];

  /* --- what Chart.js lacks ---------------------------------------------------------------- */

  /* Upright lines with a label each, in as many rows as keep them apart. */
  const marks = {
    id: 'marks',
    afterDatasetsDraw: function (chart) {
      const plot = chart.vtPlot, area = chart.chartArea, ctx = chart.ctx;
      const ends = [-Infinity, -Infinity, -Infinity];
      ctx.save();
      ctx.font = '11px ' + Chart.defaults.font.family;
      ctx.fillStyle = chart.vtLook.ink;
      ctx.strokeStyle = chart.vtLook.quiet;
      plot.marks.forEach(function (mark) {
        const x = chart.scales.x.getPixelForValue(mark.at);
        if (!(x >= area.left - 1 && x <= area.right + 1)) {
          return;
        }
        const half = ctx.measureText(mark.label).width / 2 + 3;
        const at = Math.min(Math.max(x, area.left + half), area.right - half);
        let row = ends.findIndex(function (end) { return at - half >= end; });
        row = row < 0 ? ends.length - 1 : row;
        ends[row] = at + half;
        const top = area.top - 5 - 12 * row;
        ctx.setLineDash([3, 3]);
        ctx.beginPath();
        ctx.moveTo(x, area.bottom);
        ctx.lineTo(x, top + 2);
        ctx.stroke();
        ctx.textAlign = 'center';
        ctx.fillText(mark.label, at, top);
      });
      ctx.restore();
    }
  };

  /* Whiskers, or a band, from the lowest to the highest value of a point. */
  const spans = {
    id: 'spans',
    beforeDatasetsDraw: function (chart) {
      const ctx = chart.ctx, area = chart.chartArea;
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
      ctx.clip();
      chart.data.datasets.forEach(function (set, i) {
        if (set.vtStyle !== 'band' || !set.vtSpans || !chart.isDatasetVisible(i)) {
          return;
        }
        const y = chart.scales[set.yAxisID];
        const known = set.data.map(function (point, k) { return [point, set.vtSpans[k]]; }).filter(function (p) { return p[1]; });
        ctx.fillStyle = faint(set.borderColor, 0.18);
        ctx.beginPath();
        known.forEach(function (p) { ctx.lineTo(chart.scales.x.getPixelForValue(p[0].x), y.getPixelForValue(p[1][1])); });
        known.reverse().forEach(function (p) { ctx.lineTo(chart.scales.x.getPixelForValue(p[0].x), y.getPixelForValue(p[1][0])); });
        ctx.fill();
      });
      ctx.restore();
    },
    afterDatasetsDraw: function (chart) {
      const ctx = chart.ctx, flat = chart.vtPlot.y.scale === 'category';
      chart.data.datasets.forEach(function (set, i) {
        if (set.vtStyle === 'band' || !set.vtSpans || !chart.isDatasetVisible(i)) {
          return;
        }
        const elements = chart.getDatasetMeta(i).data, area = chart.chartArea;
        ctx.save();
        ctx.beginPath();
        ctx.rect(area.left, area.top, area.right - area.left + 5, area.bottom - area.top);
        ctx.clip();
        ctx.strokeStyle = set.vtStyle === 'bars' ? chart.vtLook.ink : set.borderColor;
        ctx.lineWidth = 1.5;
        set.vtSpans.forEach(function (span, k) {
          if (!span || !elements[k]) {
            return;
          }
          const scale = flat ? chart.scales.x : chart.scales[set.yAxisID];
          const a = scale.getPixelForValue(span[0]), b = scale.getPixelForValue(span[1]);
          const at = flat ? elements[k].y : elements[k].x;
          ctx.beginPath();
          [[a, at, -4], [a, at, 4], [b, at, 0], [b, at, -4], [b, at, 4]].forEach(function (p, n) {
            const along = p[0], across = p[1] + p[2];
            const move = n === 0;
            if (n === 2) {
              if (flat) { ctx.moveTo(a, at); ctx.lineTo(b, at); } else { ctx.moveTo(at, a); ctx.lineTo(at, b); }
            } else if (n === 3 || move) {
              if (flat) { ctx.moveTo(along, across); } else { ctx.moveTo(across, along); }
            } else if (flat) { ctx.lineTo(along, across); } else { ctx.lineTo(across, along); }
          });
          ctx.stroke();
        });
        ctx.restore();
      });
    }
  };

  /* --- from a plot to a chart ------------------------------------------------------------- */

  function extent(plot, which) {
    let low = Infinity, high = -Infinity;
    plot.series.forEach(function (series) {
      if (Boolean(series.second) !== (which === 'y2')) {
        return;
      }
      series.points.forEach(function (point, k) {
        const span = series.spans && series.spans[k];
        (span || []).concat(point[1]).forEach(function (value) {
          if (plot[which].scale === 'log' && !(value > 0)) {
            return;
          }
          low = Math.min(low, value);
          high = Math.max(high, value);
        });
      });
    });
    return [low, high];
  }

  function distinct(plot) {
    const values = new Set();
    plot.series.forEach(function (series) { series.points.forEach(function (p) { values.add(p[0]); }); });
    return Array.from(values).sort(function (a, b) { return a - b; });
  }

  /* Round values only: 1, and 2 and 5 where there is room. */
  function logTick(value, scale) {
    const mantissa = value / Math.pow(10, Math.floor(Math.log10(value) + 1e-9));
    const decades = Math.log10(scale.max / scale.min);
    const near = function (m) { return Math.abs(mantissa - m) < 1e-6; };
    if (decades > 8) {
      return near(1) && Math.round(Math.log10(value)) % 2 === 0;
    }
    return near(1) || (decades < 2.5 && (near(2) || near(5)));
  }

  /* Round times between the ends, which are where the data ends. */
  function roundTicks(scale) {
    const wanted = (scale.max - scale.min) / Math.max(2, Math.min(8, scale.width / 70));
    const power = Math.pow(10, Math.floor(Math.log10(wanted)));
    const step = power * [1, 2, 5, 10].find(function (m) { return m * power >= wanted; });
    scale.ticks = [];
    for (let i = Math.ceil(scale.min / step - 1e-9); i * step <= scale.max * (1 + 1e-9); i++) {
      scale.ticks.push({ value: Number((i * step).toPrecision(12)) });
    }
  }

  function scaleOf(axis, plot, which, colours) {
    const scale = {
      type: axis.scale === 'log' ? 'logarithmic' : 'linear',
      grid: { color: colours.rule, borderColor: colours.quiet, drawTicks: false, drawOnChartArea: which !== 'y2' },
      ticks: { color: colours.quiet, padding: 6, maxRotation: 0, autoSkipPadding: 10,
        callback: function (value) {
          return axis.scale === 'log' && this.vtFew !== true && !logTick(value, this) ? null : tick(value, axis.unit);
        } },
      title: { display: axis.label !== '', color: colours.quiet, padding: 2,
        text: axis.label + (axis.scale === 'nines' ? ' (%)' : axis.unit === '' || axis.unit === 'ns' || axis.unit === 'J' ? '' : ' (' + axis.unit + ')') }
    };
    if (which === 'y2') {
      scale.position = 'right';
    }
    if (which !== 'x' && axis.scale === 'linear') {
      const range = extent(plot, which);
      scale.suggestedMin = axis.unit === '°C' ? range[0] - 1 : Math.min(0, range[0]);
      scale.suggestedMax = range[1] + 0.03 * Math.abs(range[1]);
    }
    if (axis.unit === 's' && which === 'x') {
      const times = distinct(plot);
      scale.min = Math.min(0, times[0]);
      scale.max = times[times.length - 1];
      scale.afterBuildTicks = roundTicks;
      scale.ticks.includeBounds = false;
    }
    if (axis.scale === 'log' && which !== 'x') {
      const range = extent(plot, which);
      scale.min = range[0] / 1.3;
      scale.max = range[1] * 1.3;
    }
    if (axis.scale === 'nines') {
      scale.min = 0;
      scale.afterBuildTicks = function (built) {
        const every = Math.ceil(built.max * 52 / Math.max(built.width, 100));
        const wanted = [Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8, 9].filter(function (v) {
          return v <= built.max && (v < 1 ? every === 1 : (v - 1) % every === 0);
        });
        built.ticks = wanted.map(function (v) { return { value: v }; });
      };
      scale.ticks.callback = ninesWords;
      scale.ticks.autoSkip = false;
    }
    if (axis.scale === 'log' && which === 'x') {
      const values = distinct(plot), few = values.length > 1 && values.length <= 12 && axis.unit === '';
      if (few) {
        scale.min = values[0] / 1.15;
        scale.max = values[values.length - 1] * 1.15;
        scale.afterBuildTicks = function (built) {
          built.vtFew = true;
          built.ticks = values.map(function (v) { return { value: v }; });
        };
      } else if (values.length > 0) {
        const room = plot.series[0].style === 'step' ? 1 : 1.3;
        scale.min = values[0] / room;
        scale.max = values[values.length - 1] * room;
      }
    }
    if (axis.scale === 'linear' && which === 'x' && plot.y.scale === 'category') {
      const values = plot.series.map(function (s) { return (s.spans || []).filter(Boolean); }).flat(2);
      scale.suggestedMin = Math.min.apply(null, [0].concat(values));
      scale.suggestedMax = Math.max.apply(null, [0].concat(values));
    }
    return scale;
  }

  function nameScale(plot, colours) {
    const short = function (name) { return name.length > 26 ? name.slice(0, 25) + '…' : name; };
    return { type: 'linear', reverse: true, min: -0.6, max: plot.names.length - 0.4,
      grid: { display: false, borderColor: colours.quiet },
      afterBuildTicks: function (built) { built.ticks = plot.names.map(function (n, i) { return { value: i }; }); },
      ticks: { color: colours.ink, autoSkip: false, callback: function (value) { return short(plot.names[value] || ''); } } };
  }

  function setOf(series, i, plot, colours) {
    const colour = colours.series[i % reduced], style = series.style;
    const set = {
      label: series.name, vtStyle: style, vtSpans: series.spans, vtTexts: series.texts,
      yAxisID: series.second ? 'y2' : 'y', borderColor: colour, backgroundColor: colour,
      data: series.points.map(function (p) { return { x: p[0], y: p[1] }; }),
      showLine: true, borderWidth: 1.75, pointRadius: 0, pointHitRadius: 8, pointHoverRadius: 4,
      pointStyle: shapes[i % shapes.length], borderJoinStyle: 'round', hidden: false
    };
    if (style === 'bars') {
      return { type: 'bar', label: series.name, vtStyle: style, vtSpans: series.spans, vtTexts: series.texts,
        yAxisID: 'y', backgroundColor: faint(colour, 0.82), borderWidth: 0, maxBarThickness: 26,
        barPercentage: 0.8, categoryPercentage: 0.9, data: series.points.map(function (p) { return p[0]; }) };
    }
    if (style === 'step') {
      set.stepped = true;
      set.fill = 'origin';
      set.borderWidth = 1.25;
      set.backgroundColor = faint(colour, 0.22);
    } else if (style === 'dashed') {
      set.borderDash = [6, 4];
      set.borderColor = i === 0 ? colour : colours.quiet;
      set.backgroundColor = set.borderColor;
      set.order = 1;
    } else if (style === 'points' || style === 'spans') {
      set.showLine = false;
      set.pointRadius = style === 'spans' ? 2.5 : 4;
      set.backgroundColor = faint(colour, 0.7);
    } else if (style === 'whiskers') {
      set.pointRadius = 3.5;
    } else if (style === 'front') {
      set.data = set.data.map(function (p, k) { return [p, (series.texts || [])[k]]; }).sort(function (a, b) { return a[0].x - b[0].x; });
      set.vtTexts = set.data.map(function (d) { return d[1]; });
      set.data = set.data.map(function (d) { return d[0]; });
      set.pointRadius = 6;
      set.backgroundColor = 'transparent';
    } else if (style === 'star') {
      set.showLine = false;
      set.pointStyle = 'rectRot';
      set.pointRadius = 9;
      set.borderColor = colours.ink;
      set.backgroundColor = colour;
    }
    return set;
  }

  function xWords(plot, value) {
    return plot.x.scale === 'nines' ? ninesWords(value) + ' %' : plot.x.label + ' ' + words(value, plot.x.unit);
  }
  function pointWords(plot, set, k) {
    const point = set.data[k], flat = plot.y.scale === 'category';
    const axis = set.yAxisID === 'y2' ? plot.y2 : plot.y;
    const value = set.vtStyle === 'bars' ? words(point, plot.x.unit)
      : flat ? words(point.x, plot.x.unit) : words(point.y, axis.unit);
    const span = set.vtSpans && set.vtSpans[k], text = set.vtTexts && set.vtTexts[k];
    const unit = flat ? plot.x.unit : axis.unit;
    return (plot.series.length > 1 || !flat ? set.label + ': ' : '') + value +
      (span ? ' (' + words(span[0], unit) + ' to ' + words(span[1], unit) + ')' : '') + (text ? ' · ' + text : '');
  }
  function headWords(plot, set, k) {
    if (plot.y.scale === 'category') {
      return plot.names[set.vtStyle === 'bars' ? k : set.data[k].y] || '';
    }
    return xWords(plot, set.data[k].x);
  }

  function makeChart(canvas, plot, index, printing) {
    const colours = look(printing), bars = plot.series.some(function (s) { return s.style === 'bars'; });
    const flat = plot.y.scale === 'category';
    const scattered = plot.series.some(function (s) { return s.style === 'points' || s.style === 'spans'; });
    const sets = plot.series.map(function (series, i) { return setOf(series, i, plot, colours); });
    sets.forEach(function (set, i) { set.hidden = hidden[index].has(i); });
    const scales = { x: scaleOf(plot.x, plot, 'x', colours) };
    if (bars) {
      scales.y = { type: 'category', grid: { display: false, borderColor: colours.quiet },
        ticks: { color: colours.ink, autoSkip: false,
          callback: function (value) { const n = plot.names[value] || ''; return n.length > 26 ? n.slice(0, 25) + '…' : n; } } };
    } else {
      scales.y = flat ? nameScale(plot, colours) : scaleOf(plot.y, plot, 'y', colours);
    }
    if (plot.y2) {
      scales.y2 = scaleOf(plot.y2, plot, 'y2', colours);
    }
    const before = {
      id: 'before',
      beforeInit: function (chart) { chart.vtPlot = plot; chart.vtLook = colours; }
    };
    return new Chart(canvas, {
      type: bars ? 'bar' : 'scatter',
      data: { labels: bars ? plot.names : undefined, datasets: sets },
      options: {
        indexAxis: bars ? 'y' : 'x', animation: false, responsive: !printing,
        devicePixelRatio: printing ? 2 : undefined, maintainAspectRatio: false,
        layout: { padding: { top: plot.marks.length > 2 ? 42 : plot.marks.length > 0 ? 18 : 4, right: 10 } },
        interaction: { mode: 'nearest', axis: scattered || bars ? 'xy' : 'x', intersect: scattered },
        scales: scales,
        plugins: {
          legend: { display: false },
          tooltip: {
            backgroundColor: colours.ink, titleColor: colours.paper, bodyColor: colours.paper,
            cornerRadius: 3, displayColors: false, titleFont: { weight: '600' },
            callbacks: {
              title: function (items) { return items.length > 0 ? headWords(plot, items[0].dataset, items[0].dataIndex) : ''; },
              label: function (item) { return pointWords(plot, item.dataset, item.dataIndex); }
            }
          }
        }
      },
      plugins: [before, marks, spans]
    });
  }

  /* --- legend, keys ----------------------------------------------------------------------- */

  function swatch(series, colour) {
    const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg');
    const line = document.createElementNS(ns, 'line');
    svg.setAttribute('width', '18');
    svg.setAttribute('height', '10');
    svg.setAttribute('aria-hidden', 'true');
    [['x1', '1'], ['x2', '17'], ['y1', '5'], ['y2', '5'], ['stroke', colour],
      ['stroke-width', series.style === 'points' || series.style === 'star' ? '8' : '2.5'],
      ['stroke-dasharray', series.style === 'dashed' ? '5 3' : series.style === 'points' || series.style === 'star' ? '8 20' : 'none']
    ].forEach(function (a) { line.setAttribute(a[0], a[1]); });
    if (series.style === 'points' || series.style === 'star') {
      line.setAttribute('x1', '5');
    }
    svg.appendChild(line);
    return svg;
  }

  function makeLegend(figure, plot, index) {
    const old = figure.querySelector('.legend');
    if (old) {
      old.remove();
    }
    if (plot.series.length < 2) {
      return;
    }
    const list = document.createElement('ul');
    list.className = 'legend';
    list.setAttribute('aria-label', 'Series');
    plot.series.forEach(function (series, i) {
      const item = document.createElement('li'), button = document.createElement('button');
      const set = charts[index].data.datasets[i];
      button.type = 'button';
      button.setAttribute('aria-pressed', String(!hidden[index].has(i)));
      button.appendChild(swatch(series, set.borderColor));
      button.appendChild(document.createTextNode(series.name));
      button.addEventListener('click', function () {
        const off = !hidden[index].delete(i);
        if (off) {
          hidden[index].add(i);
        }
        charts[index].setDatasetVisibility(i, !off);
        charts[index].update();
        button.setAttribute('aria-pressed', String(!off));
      });
      item.appendChild(button);
      list.appendChild(item);
    });
    figure.querySelector('.plot').before(list);
  }

  /* Arrows walk along the points of a series and from one to another; what is there is spoken. */
  function onKey(event, plot, index) {
    const chart = charts[index], shown = [];
    chart.data.datasets.forEach(function (set, i) {
      if (chart.isDatasetVisible(i) && set.data.length > 0) {
        shown.push(i);
      }
    });
    const active = chart.getActiveElements()[0];
    let at = active ? shown.indexOf(active.datasetIndex) : -1, k = active ? active.index : -1;
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1], Home: [-1e9, 0], End: [1e9, 0] }[event.key];
    if (event.key === 'Escape') {
      chart.setActiveElements([]);
      chart.tooltip.setActiveElements([], { x: 0, y: 0 });
      chart.update();
      return;
    }
    if (!step || shown.length === 0) {
      return;
    }
    event.preventDefault();
    at = Math.min(Math.max(at < 0 ? 0 : at + step[1], 0), shown.length - 1);
    const set = chart.data.datasets[shown[at]];
    k = Math.min(Math.max(k + step[0], 0), set.data.length - 1);
    const elements = [{ datasetIndex: shown[at], index: k }];
    const element = chart.getDatasetMeta(shown[at]).data[k];
    chart.setActiveElements(elements);
    chart.tooltip.setActiveElements(elements, { x: element.x, y: element.y });
    chart.update();
    document.getElementById('spoken').textContent = headWords(plot, set, k) + ', ' + pointWords(plot, set, k);
  }

  /* --- all of it -------------------------------------------------------------------------- */

  function drawAll(printing) {
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 12;
    plots.forEach(function (plot, i) {
      const figure = document.getElementById('f' + i), canvas = document.getElementById('plot' + i);
      if (charts[i]) {
        charts[i].destroy();
      }
      const tall = plot.y.scale === 'category' ? Math.max(8, 4.5 + 2.1 * plot.names.length) : 17;
      figure.querySelector('.plot').style.height = printing ? '' : tall + 'rem';
      charts[i] = makeChart(canvas, plot, i, printing);
      if (printing) {
        charts[i].resize(440, tall * 15);
      }
      makeLegend(figure, plot, i);
    });
  }

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  }
  const toggle = document.getElementById('theme');
  function nameToggle() {
    toggle.textContent = isDark() ? 'Light' : 'Dark';
    toggle.setAttribute('aria-label', isDark() ? 'Show on light ground' : 'Show on dark ground');
  }
  toggle.hidden = false;
  toggle.addEventListener('click', function () {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    nameToggle();
    drawAll(false);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', function () { nameToggle(); drawAll(false); });
  addEventListener('beforeprint', function () { drawAll(true); });
  addEventListener('afterprint', function () { drawAll(false); });

  document.querySelectorAll('.code').forEach(function (box) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', function () {
      const text = box.querySelector('code');
      const select = function () {
        const range = document.createRange();
        range.selectNodeContents(text);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        button.textContent = 'Selected';
      };
      if (navigator.clipboard) {
        navigator.clipboard.writeText(text.textContent).then(function () { button.textContent = 'Copied'; }, select);
      } else {
        select();
      }
    });
    box.appendChild(button);
  });

  nameToggle();
  drawAll(false);
  plots.forEach(function (plot, i) {
    document.getElementById('plot' + i).addEventListener('keydown', function (event) { onKey(event, plot, i); });
  });
  /* For tests: what was drawn. */
  window.vatioCharts = charts;
}());
