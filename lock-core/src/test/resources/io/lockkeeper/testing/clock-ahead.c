/* Loaded before the C library: shows a process a wall clock that is ahead by CLOCK_AHEAD_MILLIS. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void) zone;
    long result = syscall(SYS_gettimeofday, time, 0L);
    long micros = time->tv_usec + atol(getenv("CLOCK_AHEAD_MILLIS")) * 1000;
    time->tv_sec += micros / 1000000;
    time->tv_usec = micros % 1000000;
    return (int) result;
}
