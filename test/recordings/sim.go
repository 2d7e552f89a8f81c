package main

import (
	"context"
	"errors"
	"time"
)

// simulated is a node on the simulated runtime.
func simulated(ctx context.Context, r *run) error {
	a, err := r.start("", map[string]string{"IMAGE_HTTP": "nginx:latest", "IMAGE_BUSYBOX": "busybox:1.37"}, "--runtime", "sim")
	if err != nil {
		return err
	}
	err = play(ctx, []step{
		{0, "pods appear", a.put("plain", "crash")},
		{30 * time.Second, "the end", nil},
	})
	return errors.Join(err, a.stop(ctx))
}
