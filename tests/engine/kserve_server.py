#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small server of the Open Inference Protocol v2 over ONNX Runtime, for tests.

kserve_server.py FOLDER: serves every FOLDER/NAME.onnx as the model NAME on a free port of
127.0.0.1, prints "port N" and ends when its standard input does. A name NAME~WAY misbehaves in
that way (see `WAYS`). GET /stats counts connections and requests.
"""
import http.server
import json
import os
import socket
import socketserver
import sys
import threading
import time

import numpy
import onnxruntime

DATATYPES = {
    "tensor(bool)": ("BOOL", numpy.bool_),
    "tensor(uint8)": ("UINT8", numpy.uint8),
    "tensor(int8)": ("INT8", numpy.int8),
    "tensor(int32)": ("INT32", numpy.int32),
    "tensor(int64)": ("INT64", numpy.int64),
    "tensor(float16)": ("FP16", numpy.float16),
    "tensor(float)": ("FP32", numpy.float32),
    "tensor(double)": ("FP64", numpy.float64),
}
NUMPY = {name: dtype for name, dtype in DATATYPES.values()}

folder = sys.argv[1]
lock = threading.Lock()
sessions = {}
stats = {"connections": 0, "requests": 0, "now": 0, "most_at_once": 0}


class Refused(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def session_of(name):
    with lock:
        if name not in sessions:
            path = os.path.join(folder, name + ".onnx")
            if not os.path.exists(path):
                raise Refused(404, f"model {name} is not known")
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            options.log_severity_level = 4
            sessions[name] = onnxruntime.InferenceSession(path, options)
        return sessions[name]


def port_of(value):
    shape = [extent if isinstance(extent, int) else -1 for extent in value.shape]
    return {"name": value.name, "datatype": DATATYPES[value.type][0], "shape": shape}


def metadata(name, way):
    if way == "garbage-metadata":
        return b"<html>not JSON</html>"
    session = session_of(name)
    reply = {
        "name": name,
        "versions": ["1"],
        "platform": "onnxruntime_onnx",
        "inputs": [port_of(value) for value in session.get_inputs()],
        "outputs": [port_of(value) for value in session.get_outputs()],
    }
    if way == "text-metadata":
        reply["inputs"][0]["datatype"] = "BYTES"
    if way == "no-outputs":
        reply["outputs"] = []
    if way == "bad-extent":
        reply["inputs"][0]["shape"][0] = -7
    if way == "nameless":
        del reply["inputs"][0]["name"]
    if way == "deep":
        return b"[" * 100000
    return json.dumps(reply).encode()


def infer(name, body, json_size):
    """The reply's JSON as a dictionary, and the arrays behind it."""
    session = session_of(name)
    request = json.loads(body[:json_size])
    offset = json_size
    feeds = {}
    for tensor in request["inputs"]:
        size = tensor["parameters"]["binary_data_size"]
        data = body[offset : offset + size]
        offset += size
        dtype = NUMPY[tensor["datatype"]]
        feeds[tensor["name"]] = numpy.frombuffer(data, dtype).reshape(tensor["shape"])
    if offset != len(body):
        raise Refused(400, "the body has another size than the inputs")
    names = [output["name"] for output in request["outputs"]]
    if not all(output["parameters"]["binary_data"] for output in request["outputs"]):
        raise Refused(400, "binary outputs must be asked for")
    try:
        arrays = session.run(names, feeds)
    except Exception as failure:
        raise Refused(400, str(failure)) from failure
    types = {value.name: DATATYPES[value.type][0] for value in session.get_outputs()}
    outputs = [
        {
            "name": output,
            "datatype": types[output],
            "shape": list(array.shape),
            "parameters": {"binary_data_size": array.nbytes},
        }
        for output, array in zip(names, arrays)
    ]
    return {"model_name": name, "id": request["id"], "outputs": outputs}, arrays


def other_id(reply, arrays):
    reply["id"] = "another"


def other_shape(reply, arrays):
    reply["outputs"][0]["shape"][0] += 1


def huge_shape(reply, arrays):
    reply["outputs"][0]["shape"] = [2**40, 2**40]


def negative_size(reply, arrays):
    reply["outputs"][0]["parameters"]["binary_data_size"] = -8


def other_type(reply, arrays):
    reply["outputs"][0]["datatype"] = "INT32"


def unknown_type(reply, arrays):
    reply["outputs"][0]["datatype"] = "FP128"


def other_name(reply, arrays):
    reply["outputs"][0]["name"] = "somebody else's"


def no_outputs(reply, arrays):
    del reply["outputs"]


def twice(reply, arrays):
    reply["outputs"].append(reply["outputs"][0])


def more_bytes(reply, arrays):
    arrays.append(numpy.zeros(3, numpy.uint8))


def fewer_bytes(reply, arrays):
    arrays[0] = arrays[0].ravel()[:-1]


def as_json(reply, arrays):
    output = reply["outputs"][0]
    output["data"] = arrays.pop(0).ravel().tolist()
    del output["parameters"]


# Ways to misbehave that change the reply; the others stand in Handler.answer_infer.
WAYS = {
    "other-id": other_id,
    "other-shape": other_shape,
    "huge-shape": huge_shape,
    "negative-size": negative_size,
    "other-type": other_type,
    "unknown-type": unknown_type,
    "other-name": other_name,
    "no-reply-outputs": no_outputs,
    "twice": twice,
    "more-bytes": more_bytes,
    "fewer-bytes": fewer_bytes,
    "as-json": as_json,
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with lock:
            stats["connections"] += 1

    def log_message(self, *arguments):
        pass

    def send(self, code, body, headers=(), length=None):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def refuse(self, code, text):
        self.send(code, json.dumps({"error": text}).encode())

    def model(self):
        """NAME and WAY of /v2/models/NAME~WAY[/versions/1][/infer]."""
        parts = self.path.split("/")
        if len(parts) < 4 or parts[1:3] != ["v2", "models"]:
            raise Refused(404, f"no such path: {self.path}")
        name, _, way = parts[3].partition("~")
        return name, way

    def do_GET(self):
        try:
            if self.path == "/stats":
                with lock:
                    self.send(200, json.dumps(stats).encode())
                return
            name, way = self.model()
            self.send(200, metadata(name, way))
        except Refused as refused:
            self.refuse(refused.code, str(refused))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            stats["requests"] += 1
            stats["now"] += 1
            stats["most_at_once"] = max(stats["most_at_once"], stats["now"])
        try:
            self.answer_infer(body)
        except Refused as refused:
            self.refuse(refused.code, str(refused))
        finally:
            with lock:
                stats["now"] -= 1

    def answer_infer(self, body):
        name, way = self.model()
        if way == "unavailable":
            raise Refused(503, "the model\nis being loaded")
        if way == "silent-500":
            self.send(500, b"")
            return
        if way == "drop":
            self.close_connection = True
            return
        if way == "slow":
            time.sleep(1.5)
        if way == "unhurried":
            time.sleep(0.05)
        if way == "guarded" and self.headers.get("X-Token") != "secret":
            raise Refused(401, "who are you?")
        json_size = int(self.headers["Inference-Header-Content-Length"])
        reply, arrays = infer(name, body, json_size)
        if way in WAYS:
            WAYS[way](reply, arrays)
        text = json.dumps(reply).encode()
        if way == "garbage":
            text = text[:-1] + b"?"
        whole = text + b"".join(array.tobytes() for array in arrays)
        says = len(text)
        if way == "long-header":
            says = len(whole) + 100
        if way == "short-header":
            says -= 1
        if way == "negative-header":
            says = -1
        headers = [("Inference-Header-Content-Length", str(says))]
        if way == "closing":
            headers.append(("Connection", "close"))
        if way == "truncated":
            self.send(200, whole[:-5], headers, len(whole))
            self.close_connection = True
        else:
            self.send(200, whole, headers)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # a client that went away


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"port {server.server_address[1]}", flush=True)
sys.stdin.read()
