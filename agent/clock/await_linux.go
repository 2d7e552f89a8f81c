package clock

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// TFD_TIMER_CANCEL_ON_SET of linux/timerfd.h.
const cancelOnSet = 2

// await returns when the wall clock was set, after [Look], or when ctx ends. The kernel reports it by canceling a timer
// of the wall clock; a resume from suspension counts as setting the clock.
func await(ctx context.Context) {
	set, err := watchClock()
	if err != nil {
		Sleep(ctx, Look)
		return
	}
	defer func() { _ = set.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = set.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	_ = set.SetReadDeadline(time.Now().Add(Look))
	_, _ = set.Read(make([]byte, 8)) // ECANCELED, or the deadline
}

func watchClock() (*os.File, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	far := unix.ItimerSpec{Value: unix.NsecToTimespec(time.Now().Add(10 * 365 * 24 * time.Hour).UnixNano())}
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|cancelOnSet, &far, nil); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "timerfd"), nil
}
