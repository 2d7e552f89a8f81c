package watch

import (
	"context"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestThere: an observer takes the path of a socket that the present kubelet has, and waits for one that it does not have yet.
func TestThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Found: &discover.Found{Process: &discover.Process{PID: 1}}, Bus: trace.NewBus(1), View: fstest.MapFS{}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		api := func(f *discover.Found) string { return f.PodsAPI }
		time.AfterFunc(12*time.Second, func() { w.now.Store(&discover.Found{PodsAPI: "/proc/2/root/api.sock"}) })
		began := time.Now()
		if got, err := w.there(ctx, api); err != nil || got != "/proc/2/root/api.sock" || time.Since(began) != 15*time.Second {
			t.Errorf("got %q, %v after %v", got, err, time.Since(began))
		}
		w.now.Store(&discover.Found{PodsAPI: "/proc/3/root/api.sock"})
		if got, err := w.there(ctx, api); err != nil || got != "/proc/3/root/api.sock" {
			t.Errorf("got %q, %v", got, err)
		}
		w.now.Store(&discover.Found{})
		if _, err := w.there(ctx, api); err == nil {
			t.Error("it does not end")
		}
	})
}

// TestPathOf: the log's file of a kubelet that was started again is below its process.
func TestPathOf(t *testing.T) {
	const path = "/var/log/kubelet.log"
	of := func(files string, l discover.Log) *discover.Found {
		return &discover.Found{Process: &discover.Process{Files: files}, Log: l}
	}
	file := func(open string) discover.Log { return discover.Log{Kind: discover.LogFile, Path: path, Open: open} }
	piped := file(path)
	piped.Through = &discover.Process{}
	for name, c := range map[string]struct {
		was, now *discover.Found
		from     observer
		want     string
	}{
		"of the node":           {of("", file(path)), of("", file(path)), kubeletLog, path},
		"mounts of its own":     {of("/proc/7/root", file("/proc/7/root"+path)), of("/proc/8/root", file("/proc/8/root"+path)), kubeletLog, "/proc/8/root" + path},
		"removed":               {of("", file("/proc/7/fd/2")), of("", file(path)), kubeletLog, path},
		"named":                 {of("/proc/7/root", file("/proc/7/root"+path)), of("/proc/8/root", discover.Log{Kind: discover.LogPipe}), kubeletLog, "/proc/8/root" + path},
		"named, of the node":    {of("/proc/7/root", file(path)), of("/proc/8/root", discover.Log{Kind: discover.LogPipe}), kubeletLog, path},
		"written by another":    {of("", piped), of("", file("/proc/8/root"+path)), kubeletLog, path},
		"of the runtime":        {of("/proc/7/root", file("/proc/7/root"+path)), of("/proc/8/root", file("/proc/8/root"+path)), runtimeLog, "/proc/7/root" + path},
		"not started yet":       {of("/proc/7/root", file("/proc/7/root"+path)), nil, kubeletLog, "/proc/7/root" + path},
		"another file is found": {of("/proc/7/root", file("/proc/7/root"+path)), of("/proc/8/root", discover.Log{Kind: discover.LogFile, Path: "/x", Open: "/proc/8/root/x"}), kubeletLog, "/proc/8/root" + path},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(Config{Found: c.was, Bus: trace.NewBus(1), View: fstest.MapFS{}})
			if c.now != nil {
				w.now.Store(c.now)
			}
			if got := w.pathOf(c.from, &c.was.Log); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
