package podruntime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A call that creates something may outlive its work, but not for long.
func TestPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		call, done := patient(ctx)
		cancel()
		time.Sleep(patience - time.Second)
		if call.Err() != nil {
			t.Error("the call was cut short at once")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if call.Err() == nil {
			t.Error("the call goes on for ever")
		}
		done()
		call, done = patient(t.Context())
		done()
		synctest.Wait()
		if call.Err() == nil {
			t.Error("done leaves something behind")
		}
	})
}
