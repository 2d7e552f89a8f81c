package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// recorder is "kubeloupe record", running or not. It costs more than run --record, which writes the same file but needs
// neither the socket nor a process.
type recorder struct {
	b      *bench
	agent  int
	file   string
	client *client
	pods   []string // started while it ran
}

func withRecorder(ctx context.Context, b *bench) (watcher, error) {
	if err := b.startAgent(ctx, &b.ours, "--control-socket", b.socket()); err != nil {
		return nil, err
	}
	return &recorder{b: b, agent: b.agent.cmd.Process.Pid, file: filepath.Join(b.dir, "session.klr")}, nil
}

func (r *recorder) set(ctx context.Context, on bool) error {
	pids := []int{r.agent}
	if !on {
		if err := r.end(); err != nil {
			return err
		}
		return rest(ctx, pids...)
	}
	if r.client == nil {
		if err := r.begin(ctx); err != nil {
			return err
		}
	}
	return rest(ctx, append(pids, r.client.pid())...)
}

func (r *recorder) begin(ctx context.Context) (err error) {
	cmd := exec.Command(r.b.o.bin, "record", r.file, "--socket", r.b.socket())
	if r.client, err = startClient(ctx, cmd); err != nil {
		return err
	}
	err = r.client.await(ctx, "recording", func() bool {
		s, err := os.Stat(r.file)
		return err == nil && s.Size() > 0
	})
	if err != nil {
		return err
	}
	return quiet(ctx, r.client.pid())
}

// end ends the recording and looks whether all that started meanwhile is in it.
func (r *recorder) end() error {
	if r.client == nil {
		return nil
	}
	err := errors.Join(r.client.alive(), r.client.stop(syscall.SIGINT), recorded(r.file, r.pods))
	r.client, r.pods = nil, nil
	return errors.Join(err, os.Remove(r.file))
}

// recorded says by an error what a recording lacks of pods that came and went: nothing may be lost while it recorded, and
// both ends of each be there. What is between them is not asked for: a pod that ends at once has no milestone started.
func recorded(file string, pods []string) error {
	in, err := recording.Open(file)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was only read
	missing := map[string]bool{}
	for _, p := range pods {
		missing["seen "+p], missing["terminating "+p] = true, true
	}
	for item, err := range in.All() {
		switch {
		case err != nil:
			return err
		case item.Lost > 0:
			return fmt.Errorf("the recording lost %d records", item.Lost)
		case item.Earlier:
			continue
		}
		if m, ok := item.Rec.Event.(*trace.Milestone); ok {
			delete(missing, string(m.Name)+" "+item.Rec.Pod.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the recording lacks %q", slices.Sorted(maps.Keys(missing)))
	}
	return nil
}

func (r *recorder) check(on bool, pod string) error {
	if !on {
		return nil
	}
	r.pods = append(r.pods, pod)
	return r.client.alive()
}

func (r *recorder) close() error { return r.end() }
