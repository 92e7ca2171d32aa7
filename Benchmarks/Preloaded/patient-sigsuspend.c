// Lets valgrind run a program whose main thread waits in libdispatch. dispatch_main ends in a sigsuspend with every signal blocked, and
// valgrind 3.19 gives up there. This function waits without that call.
#include <signal.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    (void)mask;
    for (;;) pause();
}
