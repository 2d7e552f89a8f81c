package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Limits says how slow the registry is. The zero value is as fast as can be.
type Limits struct {
	// Rate is in bytes a second, shared by all downloads; 0 is without limit.
	Rate int64 `json:"rate"`
	// LatencyMS is added before each answer, in milliseconds.
	LatencyMS int64 `json:"latencyMs"`
}

// throttle slows a handler down. Limits apply at once, also to downloads under way.
type throttle struct {
	mu     sync.Mutex
	limits Limits
	next   time.Time // when the next byte may leave
}

func (t *throttle) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.mu.Lock()
		latency := time.Duration(t.limits.LatencyMS) * time.Millisecond
		t.mu.Unlock()
		if sleep(r.Context(), latency) != nil {
			return
		}
		h.ServeHTTP(&slowWriter{ResponseWriter: w, throttle: t, ctx: r.Context()}, r)
	})
}

// reserve returns how long n bytes must wait for their turn.
func (t *throttle) reserve(n int, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limits.Rate <= 0 {
		return 0
	}
	if t.next.Before(now) {
		t.next = now
	}
	t.next = t.next.Add(time.Duration(float64(n) / float64(t.limits.Rate) * float64(time.Second)))
	return t.next.Sub(now)
}

// serveLimits shows the limits, and sets them on PUT.
func (t *throttle) serveLimits(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		var l Limits
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		err := d.Decode(&l)
		if err == nil && (l.Rate < 0 || l.LatencyMS < 0) {
			err = fmt.Errorf("rate and latencyMs: want 0 or more")
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		t.mu.Lock()
		t.limits, t.next = l, time.Time{}
		t.mu.Unlock()
	}
	t.mu.Lock()
	l := t.limits
	t.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(l)
}

// slowWriter hides ReadFrom, so that a body passes in pieces.
type slowWriter struct {
	http.ResponseWriter
	throttle *throttle
	ctx      context.Context
}

// chunk is small enough for a smooth flow at a low rate.
const chunk = 16 << 10

func (w *slowWriter) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		part := p[done:min(len(p), done+chunk)]
		if err := sleep(w.ctx, w.throttle.reserve(len(part), time.Now())); err != nil {
			return done, err
		}
		n, err := w.ResponseWriter.Write(part)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
