package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A part that hangs in the kernel does not prevent the agent from stopping, and the error names it.
func TestEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ending{working: map[string]bool{}}
		for _, name := range []string{"volumes", "workers", "probes"} {
			e.begun(name)
		}
		e.ended("workers")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel)
		began, release := time.Now(), make(chan struct{})
		hung, err := e.wait(ctx, func() error { <-release; return errors.New("late") })
		if diff := cmp.Diff([]string{"probes", "volumes"}, hung); diff != "" || err != nil || time.Since(began) != time.Hour+endTimeout {
			t.Errorf("after %s: %v, hung (-want +got):\n%s", time.Since(began), err, diff)
		}
		close(release)
		hung, err = e.wait(ctx, func() error { return errors.New("bad") })
		if len(hung) > 0 || err == nil {
			t.Errorf("all have ended: %v, %v", hung, err)
		}
	})
}
