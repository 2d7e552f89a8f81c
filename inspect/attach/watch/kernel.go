package watch

import (
	"context"
	"errors"
	"path"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/kernel"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Kernel is the observer of what the kernel shows of a kubelet, and of the next one after a restart. What it cannot see, it says on bus.
func Kernel(f *discover.Found, v discover.View, bus *trace.Bus) Observer {
	var mu sync.Mutex // of what follows
	var at *kernel.Kernel
	said := map[string]bool{}
	isNew := func(text string) bool {
		mu.Lock()
		defer mu.Unlock()
		if said[text] || len(said) >= maxSaid {
			return false
		}
		said[text] = true
		return true
	}
	say := func(text string) {
		if isNew(text) {
			trace.Point(bus, trace.Span{}, trace.Log{Level: trace.LevelInfo, Message: "attach: " + text})
		}
	}
	see := func(r *trace.Record) bool {
		mu.Lock()
		k := at
		mu.Unlock()
		return k == nil || k.See(r)
	}
	return Observer{See: see, Name: "what the kernel shows of the kubelet", Run: func(ctx context.Context, put func(trace.Record)) error {
		if discover.Ended(v, f.Process) {
			next, err := discover.Discover(v, discover.Options{RootDir: f.Config.RootDir, RuntimeEndpoint: f.Runtime.Endpoint})
			if err != nil {
				return err
			}
			f = next
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go ends(ctx, v, f.Process, cancel)
		k := kernel.New(kernelConfig(f, put, say))
		mu.Lock()
		if at != nil {
			k.Follows(at)
		}
		at = k
		mu.Unlock()
		if err := k.Run(ctx); err != nil {
			return err
		}
		return context.Cause(ctx)
	}}
}

// ends calls cancel when a process has ended.
func ends(ctx context.Context, v discover.View, p *discover.Process, cancel context.CancelCauseFunc) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if discover.Ended(v, p) {
				cancel(errEnded)
				return
			}
		}
	}
}

var errEnded = errors.New("its process has ended")

// maxSaid bounds what is said of the kernel.
const maxSaid = 32

// kernelConfig is where the kernel shows what a kubelet does.
func kernelConfig(f *discover.Found, put func(trace.Record), say func(string)) kernel.Config {
	c := kernel.Config{Kubelet: f.Process.PID, RootDir: f.Config.RootDir, CgroupRoot: f.Config.CgroupRoot, Files: path.Join("/", f.Process.Files), Put: put, Say: say}
	if r := &f.Runtime; r.Process != nil {
		c.Runtime = r.Open
		for _, dir := range r.CNIDirs {
			c.CNI = append(c.CNI, path.Join("/", r.Process.Files, dir))
		}
	}
	if dir := f.Config.CredentialDir; dir != "" {
		c.Credentials = f.Outside(dir)
	}
	return c
}
