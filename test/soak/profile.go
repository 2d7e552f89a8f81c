package main

import (
	"context"
	"os"
	"strconv"
	"time"
)

// maxProfile is how long an agent may be profiled at most.
const maxProfile = 10 * time.Minute

// length is how long the pods come and go.
func (o *options) length() time.Duration { return time.Duration(o.minutes * float64(time.Minute)) }

// profiling profiles the agent while the pods come and go, if that is wanted. The returned function waits for the profile and writes it, or
// ends it if the run has failed.
func (s *soak) profiling(ctx context.Context) (finish func(failed bool) error) {
	if s.profileTo == "" {
		return func(bool) error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := s.profile(ctx, "profile", map[string]string{"seconds": strconv.Itoa(int(s.length().Seconds()))})
		done <- result{data, err}
	}()
	return func(failed bool) error {
		defer cancel()
		if failed {
			return nil
		}
		r := <-done
		if r.err != nil {
			return r.err
		}
		return os.WriteFile(s.profileTo, r.data, 0o644)
	}
}
