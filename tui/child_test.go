package tui

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

// childEnv makes the test binary be a program with the UI, and says which.
const childEnv = "KUBELOUPE_TUI_CHILD"

// bomb is an event that panics when it is looked at.
type bomb struct{}

func (bomb) Kind() trace.Kind { panic("boom") }

// bombs is a source of one bomb, or one that blows up itself.
type bombs struct {
	none
	inside bool
	done   bool
}

func (b *bombs) Next(ctx context.Context, buf []trace.Record) ([]trace.Record, uint64, error) {
	if b.inside {
		panic("boom")
	}
	if b.done {
		return b.none.Next(ctx, buf)
	}
	b.done = true
	return append(buf[:0], trace.Record{Seq: 1, Time: 1, Event: bomb{}}), 0, nil
}

// badSteps panics when asked for anything.
type badSteps struct{ *tuitest.Steps }

func (badSteps) Do(context.Context, string) (string, error) { panic("boom") }

// child is the program: it prints how Run ended.
func child() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	cfg := Config{Source: tuitest.Play(tuitest.Session(), tuitest.Length)}
	switch os.Getenv(childEnv) {
	case "panic-update":
		cfg.Source = &bombs{}
	case "panic-source":
		cfg.Source = &bombs{inside: true}
	case "panic-command":
		cfg.Stepper = badSteps{tuitest.NewSteps()}
	}
	err := Run(ctx, cfg)
	text, _, _ := strings.Cut(fmt.Sprint(err), "\n")
	fmt.Printf("ended: %v\n", text)
	return 0
}
