package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// all faults, in the order of the table.
func all() []*fault {
	return []*fault{
		manifests(), inotify(), openFiles(), readOnly(), diskFull(), eio(), probe(), suspended(), restarting(), restartingFast(), forkBomb(), logs(),
		millionFiles(), removal(), hungVolumes(),
	}
}

// manifests has ten thousand static pods that any node refuses, and a thousand manifests that are none. The agent is one that has been up
// for a while: its ring of records is full without the fault too.
func manifests() *fault {
	const many, bad, before = 10_000, 1_000, 1_500
	const refused = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {kubernetes.io/os: none}}\nspec:\n  containers: [{name: a, image: $BUSYBOX}]\n"
	crowded := func(ctx context.Context, n *node, yes bool) error {
		return n.tells(ctx, "whether all manifests are used", func(r *trace.Record) bool {
			e, ok := r.Event.(*trace.SourceError)
			return ok && e.Path == n.manifests && (e.Message != "") == yes
		})
	}
	put := func(n *node, name, text string, count int) error {
		for i := range count {
			name := fmt.Sprintf("%s-%d", name, i)
			if err := n.put(name+".yaml", strings.Replace(text, "%s", name, 1)); err != nil {
				return err
			}
		}
		return nil
	}
	return &fault{
		name: "manifests", what: "10,000 static manifests that are refused, 1,000 that are none", samples: 5,
		usual: func(ctx context.Context, n *node) error {
			if err := errors.Join(put(n, "early", refused, before), crowded(ctx, n, true)); err != nil {
				return err
			}
			for i := range before {
				if err := os.Remove(filepath.Join(n.manifests, fmt.Sprintf("early-%d.yaml", i))); err != nil {
					return err
				}
			}
			err := crowded(ctx, n, false)
			n.mu.Lock()
			n.told = nil
			n.mu.Unlock()
			return err
		},
		begin: func(ctx context.Context, n *node) error {
			if err := errors.Join(put(n, "huge", refused, many), put(n, "bad", "kind: [Pod\n", bad), crowded(ctx, n, true)); err != nil {
				return err
			}
			_, err := n.start(ctx) // the manifest is the last one: all others have been seen to
			return err
		},
	}
}

// inotify has the kernel refuse watches: manifests are looked for by the clock.
func inotify() *fault {
	return &fault{
		name: "inotify", what: "inotify's limits are reached from the start on", samples: 3, quick: true,
		config:  "fileCheckFrequency: 1s\n",
		command: func(cmd *exec.Cmd) *exec.Cmd { return denied(cmd, "inotify") },
		begin: func(ctx context.Context, n *node) error {
			return n.tells(ctx, "manifests to be looked for by the clock", func(r *trace.Record) bool {
				e, ok := r.Event.(*trace.Source)
				return ok && e.Source == trace.SourceFile && e.Op == trace.OpSet && e.Cause == trace.SourcePeriod
			})
		},
	}
}

// openFiles has the agent at its limit of open files: connections that never send a request hold what there is.
func openFiles() *fault {
	const limit = 128
	var held []net.Conn
	return &fault{
		name: "ulimit", what: fmt.Sprintf("%d open files, and as many connections as go", limit), samples: 3, quick: true,
		flags: []string{"--healthz-port", "10348"},
		command: func(cmd *exec.Cmd) *exec.Cmd {
			script := fmt.Sprintf(`ulimit -H -n %d; exec "$@"`, limit)
			return exec.Command("/bin/sh", append([]string{"-c", script, "sh", cmd.Path}, cmd.Args[1:]...)...)
		},
		begin: func(context.Context, *node) error {
			for range 2 * limit {
				c, err := net.DialTimeout("tcp", "127.0.0.1:10348", 2*time.Second)
				if err != nil {
					break
				}
				held = append(held, c)
			}
			if len(held) == 0 {
				return errors.New("no connection was taken")
			}
			return nil
		},
		end: func(ctx context.Context, n *node) error {
			for _, c := range held {
				_ = c.Close()
			}
			_, err := n.start(ctx)
			return err
		},
	}
}

// small makes the root directory a disk of its own.
func small(options string) func(dir string) (func() error, error) {
	return func(dir string) (func() error, error) {
		root := filepath.Join(dir, "root")
		if err := os.MkdirAll(root, 0o755); err != nil {
			return nil, err
		}
		return func() error { return unmount(root) }, mountTmpfs(root, options)
	}
}

// waiting puts a pod that cannot start while the disk is as it is, and sees that it says so.
func waiting(ctx context.Context, n *node, name string) error {
	if err := n.put(name+".yaml", fmt.Sprintf(plain, name)); err != nil {
		return err
	}
	return n.tells(ctx, "the pod to say that its directories cannot be made", func(r *trace.Record) bool {
		e, ok := r.Event.(*trace.NodeEvent)
		return ok && ofManifest(r.Pod.Name) == name && e.Type == trace.EventWarning && e.Reason == "Failed"
	})
}

// fixed sees that a pod that waited starts.
func mended(ctx context.Context, n *node, name string, started <-chan struct{}) error {
	if err := n.await(ctx, name+" to be started after all", started); err != nil {
		return err
	}
	return n.drop(ctx, name)
}

// stopping is a fault of the root directory: no pod can start meanwhile, what becomes of one is told, and it starts when it is fixed.
func stopping(f *fault, breakIt, mendIt func(n *node) error) *fault {
	var started <-chan struct{}
	f.stops, f.samples = true, 2
	f.begin = func(ctx context.Context, n *node) error {
		n.mu.Lock()
		started = n.expect("late started")
		n.mu.Unlock()
		if err := breakIt(n); err != nil {
			return err
		}
		if err := waiting(ctx, n, "late"); err != nil {
			return errors.Join(err, mendIt(n))
		}
		return nil
	}
	f.end = func(ctx context.Context, n *node) error {
		if err := mendIt(n); err != nil {
			return err
		}
		return mended(ctx, n, "late", started)
	}
	return f
}

func readOnly() *fault {
	f := &fault{name: "read-only", what: "the directory of pods is read-only for a while"}
	return stopping(f,
		func(n *node) error { return makeReadOnly(filepath.Join(n.root, "pods")) },
		func(n *node) error { return unmount(filepath.Join(n.root, "pods")) })
}

func diskFull() *fault {
	f := &fault{name: "disk-full", what: "the root directory's disk is full for a while", prepare: small("size=2m,nr_inodes=4k")}
	return stopping(f,
		func(n *node) error {
			file, err := os.Create(filepath.Join(n.root, "ballast"))
			if err != nil {
				return err
			}
			_, err = io.Copy(file, io.LimitReader(zeros{}, 64<<20))
			_ = file.Close()
			if !errors.Is(err, syscall.ENOSPC) {
				return fmt.Errorf("filling the disk: %w", err)
			}
			// Directories take no room of a tmpfs, and inodes are counted apart.
			for i := 0; err == nil || errors.Is(err, syscall.ENOSPC) && i < 2; i++ {
				for k := range 8192 {
					if err = os.Mkdir(filepath.Join(n.root, fmt.Sprintf("ballast-%d", k)), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
						return nil
					}
				}
			}
			return errors.New("the disk takes more and more directories")
		},
		func(n *node) error {
			ballast, err := filepath.Glob(filepath.Join(n.root, "ballast*"))
			for _, b := range ballast {
				err = errors.Join(err, os.Remove(b))
			}
			return err
		})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// eio has every fsync fail: no file of the agent's state can be saved, and pods that need none start as ever.
func eio() *fault {
	return &fault{
		name: "eio", what: "every fsync of the agent fails with an I/O error", samples: 3,
		command: func(cmd *exec.Cmd) *exec.Cmd { return denied(cmd, "eio") },
	}
}

// probe has three pods whose HTTP probe gets an answer that never ends.
func probe() *fault {
	var server *http.Server
	names := []string{"endless-0", "endless-1", "endless-2"}
	return &fault{
		name: "probe", what: "three probe servers that never end their answer", samples: 3, rounds: 2,
		begin: func(ctx context.Context, n *node) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for err := error(nil); err == nil; {
					_, err = w.Write(make([]byte, 64<<10))
				}
			})}
			go func() { _ = server.Serve(l) }()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			for _, name := range names {
				probe := fmt.Sprintf(", livenessProbe: {httpGet: {host: 127.0.0.1, port: %s}, periodSeconds: 1, timeoutSeconds: 5}}]", port)
				if err := n.run(ctx, name, strings.Replace(fmt.Sprintf(plain, name), "}]", probe, 1)); err != nil {
					return err
				}
			}
			return nil
		},
		end: func(ctx context.Context, n *node) error {
			err := server.Close()
			for _, name := range names {
				err = errors.Join(err, n.drop(ctx, name))
			}
			return err
		},
	}
}

// suspended stops the agent for a while, as a machine's suspension does but for the clock.
func suspended() *fault {
	return &fault{
		name: "suspend", what: "the agent is stopped for 10 s", samples: 3,
		begin: func(ctx context.Context, n *node) error {
			if err := n.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				return err
			}
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
			}
			return n.cmd.Process.Signal(syscall.SIGCONT)
		},
	}
}
