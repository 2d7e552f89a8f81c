package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubeloupe/kubeloupe/inspect/step"
	"github.com/kubeloupe/kubeloupe/trace"
)

// slowPod is a pod of a running agent whose actions take as long as the test says.
type slowPod struct {
	stops chan step.Stop
	asked []string
}

func (s *slowPod) Stops() <-chan step.Stop { return s.stops }

func (s *slowPod) Do(_ context.Context, line string) (string, error) {
	s.asked = append(s.asked, line)
	switch {
	case step.Moves(line):
		return "", nil
	case line == "x":
		return "", step.ErrElsewhere
	}
	return "said " + line, nil
}

func (s *slowPod) stop(next, err string) {
	s.stops <- step.Stop{Pod: trace.Pod{Namespace: "shop", Name: "web"}, Attached: true, Next: next, Err: err, Actions: []step.Action{{ID: "image web", State: step.Next}}}
	synctest.Wait()
}

// byHand lets a test be the person at a terminal.
func byHand(t *testing.T, test func(t *testing.T, pod *slowPod, types func(lines ...string), screen *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		pod := &slowPod{stops: make(chan step.Stop, 1)}
		r, w := io.Pipe()
		defer w.Close()
		var out bytes.Buffer
		st := &stepping{s: streams{in: r, out: &out}, front: step.NewFront(pod)}
		go st.front.Run(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- (&talk{stepping: st, hand: true}).run(t.Context()) }()
		pod.stop("cgroup", "")
		test(t, pod, func(lines ...string) {
			t.Helper()
			for _, l := range lines {
				if _, err := io.WriteString(w, l+"\n"); err != nil { // read after 3 s
					t.Fatal(err)
				}
				synctest.Wait()
			}
		}, &out)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestStepLinesAhead: what a person types while an action runs is carried out in its order, one action for each stop.
func TestStepLinesAhead(t *testing.T) {
	byHand(t, func(t *testing.T, pod *slowPod, types func(...string), screen *bytes.Buffer) {
		types("n", "i", "n", "p", "b create", "c", "where")
		if want := []string{"n", "i"}; !slices.Equal(pod.asked, want) {
			t.Errorf("asked %q while the action ran, want %q", pod.asked, want)
		}
		if want := "running  cgroup; then n, p, b create, c, where"; !strings.Contains(screen.String(), want) {
			t.Errorf("no %q in:\n%s", want, screen)
		}
		pod.stop("image web", "")
		if want := []string{"n", "i", "n"}; !slices.Equal(pod.asked, want) {
			t.Errorf("asked %q at the next stop, want %q", pod.asked, want)
		}
		pod.stop("", "") // the pod is seen, or the like
		pod.stop("create web", "")
		types("diff")
		pod.stop("start web", "")
		types("q")
		if want := []string{"n", "i", "n", "p", "b create", "c", "where", "diff", "quit"}; !slices.Equal(pod.asked, want) {
			t.Errorf("asked %q, want %q", pod.asked, want)
		}
	})
}

// TestStepLinesDropped: it is bounded, and is dropped, with words, by an action or a command that fails and by q.
func TestStepLinesDropped(t *testing.T) {
	byHand(t, func(t *testing.T, pod *slowPod, types func(...string), screen *bytes.Buffer) {
		sees := func(want string) {
			t.Helper()
			if !strings.Contains(screen.String(), want) {
				t.Errorf("no %q in:\n%s", want, screen)
			}
			screen.Reset()
		}
		types("n", "n", "p")
		pod.stop("image web", "no route to host")
		sees("dropped, because it was typed ahead: n, p")
		types(slices.Repeat([]string{"n"}, 34)...)
		sees("32 commands wait for the action to end: no more are kept")
		pod.stop("image web", "no route to host")
		types("n", "n", "x", "p")
		pod.stop("create web", "")
		pod.stop("start web", "")
		sees("dropped, because it was typed ahead: p")
		types("n", "c", "q")
		sees("dropped, because it was typed ahead: c")
		if want := []string{"n", "n", "n", "n", "x", "n", "quit"}; !slices.Equal(pod.asked, want) {
			t.Errorf("asked %q, want %q", pod.asked, want)
		}
	})
}
