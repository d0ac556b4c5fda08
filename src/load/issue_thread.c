/* SPDX-License-Identifier: Apache-2.0 */
#include "load/issue_thread.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"

static enum vt_status raise_priority(int priority, struct vt_error *err,
                                     struct vt_issue_thread *saved)
{
    int least = sched_get_priority_min(SCHED_FIFO), most = sched_get_priority_max(SCHED_FIFO);
    if (priority < least || priority > most) {
        return vt_error_set(err, VT_ERR_USAGE, "fifo_priority is %d: give a value from %d to %d",
                            priority, least, most);
    }
    int code = pthread_getschedparam(pthread_self(), &saved->policy, &saved->priority);
    if (code == 0) {
        /* Threads that a system under test starts meanwhile are not to inherit it. */
        struct sched_param wanted = {.sched_priority = priority};
        code = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &wanted) == 0 ? 0 : errno;
    }
    if (code == EPERM) {
        struct rlimit limit = {0};
        (void)getrlimit(RLIMIT_RTPRIO, &limit);
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "fifo_priority %d is not permitted: the limit for real-time "
                            "priorities (ulimit -r) is %llu; raise it in limits.conf (rtprio), "
                            "grant CAP_SYS_NICE, or leave it at 0",
                            priority, (unsigned long long)limit.rlim_cur);
    }
    if (code != 0) {
        return vt_error_set(err, VT_ERR_SYSTEM, "fifo_priority %d cannot be set: %s", priority,
                            strerror(code));
    }
    saved->scheduled = true;
    return VT_OK;
}

static enum vt_status pin(int32_t cpu, struct vt_error *err, struct vt_issue_thread *saved)
{
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
        return vt_error_set(err, VT_ERR_USAGE,
                            "issue_cpus names CPU %" PRId32 ": give a number from 0 to %d", cpu,
                            CPU_SETSIZE - 1);
    }
    if (sched_getaffinity(0, sizeof(saved->cpus), &saved->cpus) != 0) {
        return vt_error_set(err, VT_ERR_SYSTEM, "the CPUs of this process cannot be asked for: %s",
                            strerror(errno));
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (!CPU_ISSET((size_t)cpu, &saved->cpus) || sched_setaffinity(0, sizeof(one), &one) != 0) {
        return vt_error_set(err, VT_ERR_UNAVAILABLE,
                            "issue_cpus names CPU %" PRId32
                            ", which this process may not use: give one of its %d CPUs (taskset "
                            "-cp shows them)",
                            cpu, CPU_COUNT(&saved->cpus));
    }
    saved->pinned = true;
    return VT_OK;
}

enum vt_status vt_issue_thread_enter(const struct vt_load_settings *settings, uint32_t index,
                                     struct vt_error *err, struct vt_issue_thread *saved)
{
    *saved = (struct vt_issue_thread){.slack_ns = vt_clock_set_slack(1)};
    enum vt_status st = VT_OK;
    if (settings->n_issue_cpus > 0) {
        st = pin(settings->issue_cpus[index % settings->n_issue_cpus], err, saved);
    }
    if (st == VT_OK && settings->fifo_priority != 0) {
        st = raise_priority(settings->fifo_priority, err, saved);
    }
    return st;
}

void vt_issue_thread_leave(const struct vt_issue_thread *saved)
{
    /* Going back takes no rights, but to forget SCHED_RESET_ON_FORK does. */
    if (saved->scheduled && sched_setscheduler(0, saved->policy, &saved->priority) != 0) {
        (void)sched_setscheduler(0, saved->policy | SCHED_RESET_ON_FORK, &saved->priority);
    }
    if (saved->pinned) {
        (void)sched_setaffinity(0, sizeof(saved->cpus), &saved->cpus);
    }
    if (saved->slack_ns >= 0) {
        (void)vt_clock_set_slack(saved->slack_ns);
    }
}
