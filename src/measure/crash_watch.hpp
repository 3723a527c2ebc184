// SPDX-License-Identifier: Apache-2.0
// Notes in a file that this thread is dying of a fatal signal of its own: what tells a crash from a kill afterwards.
//
// While it lives (a candidate's first run, some milliseconds), SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS and SIGABRT have
// a handler of ours that writes one line and then does what would have been done without it: the program's own handler
// gets the signal with all its arguments, or the default action ends the process. Signals that other threads raise (a
// Java machine's null checks) only pass through, and so do those that another process sent. SIGINT, SIGTERM, SIGXCPU
// and SIGKILL are not looked at: who was killed, interrupted or out of time leaves no note.
//
// Known race: 1. this thread installs the handler; 2. another thread of the program installs one of its own, which
// remembers ours as the one before it; 3. this thread sees that and leaves theirs in place. From then on this process
// watches nothing, so that the two can never call each other in a circle.
#pragma once

namespace cudnn_tune::measure {

class CrashWatch {
  public:
    // One at a time in a process; a second one does nothing. `descriptor` below 0: nothing is done.
    explicit CrashWatch(int descriptor);
    CrashWatch(const CrashWatch&) = delete;
    CrashWatch& operator=(const CrashWatch&) = delete;
    ~CrashWatch();

  private:
    bool m_is_watching = false;
};

}  // namespace cudnn_tune::measure
