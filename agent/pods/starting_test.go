package pods

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStarting(t *testing.T) {
	for name, c := range map[string]struct {
		is   func(*entry)
		want bool
	}{
		"not started":         {func(*entry) {}, true},
		"started, not ready":  {func(e *entry) { e.started = true }, true},
		"ready":               {func(e *entry) { e.started, e.ready = true, true }, false},
		"ready, then failing": {func(e *entry) { e.ready, e.status.Phase = true, v1.PodRunning }, false},
		"finished":            {func(e *entry) { e.status.Phase = v1.PodSucceeded }, false},
		"failed":              {func(e *entry) { e.status.Phase = v1.PodFailed }, false},
		"rejected":            {func(e *entry) { e.refused = true }, false},
		"terminating":         {func(e *entry) { e.ended = time.Now() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewStore()
				if s.Starting(time.Hour) {
					t.Error("without pods, one is starting")
				}
				s.put(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1"}}, time.Now())
				s.with("u1", c.is)
				if got := s.Starting(time.Minute); got != c.want {
					t.Errorf("starting is %t", got)
				}
				time.Sleep(time.Minute)
				if s.Starting(time.Minute) {
					t.Error("it starts for longer than the limit")
				}
			})
		})
	}
}
