package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// restarts has as many pods as a node takes, beside one that is measured (a node takes 110), whose containers end at once and then every
// second. The node is as full without the fault: what its pods take in memory is no part of it.
func restarts(name, config, what string, samples int) *fault {
	c := &crowd{pods: 108}
	return &fault{
		name: name, what: fmt.Sprintf("%d pods whose container ends every second, %s", c.pods, what), samples: samples, config: config,
		usual: c.gather,
		begin: func(context.Context, *node) error { return c.stir() },
		end: func(ctx context.Context, n *node) error {
			return errors.Join(c.calm(), n.tells(ctx, "a pod that waits to start again", func(r *trace.Record) bool {
				s, ok := r.Event.(*trace.PodStatus)
				return ok && len(s.Containers) == 1 && s.Containers[0].Reason == "CrashLoopBackOff"
			}))
		},
	}
}

// restarting is with the back-off that a node has unless it is told otherwise.
func restarting() *fault { return restarts("restarts", "", "with the usual back-off", 20) }

// restartingFast is with the least that can be configured.
func restartingFast() *fault {
	return restarts("restarts-1s", "crashLoopBackOff: {maxContainerRestartPeriod: 1s}\nfeatureGates: {KubeletCrashLoopBackOffMax: true}\n", "with a back-off of 1 s", 10)
}

// forkBomb has a pod that forks until its limit of processes, for ever.
func forkBomb() *fault {
	return &fault{
		name: "fork-bomb", what: "a fork bomb within a pod's limit of 100 processes", samples: 3, rounds: 2,
		config: "podPidsLimit: 100\n",
		begin: func(ctx context.Context, n *node) error {
			bomb := `[sh, -c, 'b() { b | b & sleep 1; }; while :; do b; sleep 1; done 2>/dev/null']`
			return n.run(ctx, "bomb", strings.Replace(strings.Replace(fmt.Sprintf(plain, "bomb"), "[sleep, infinity]", bomb, 1), "}]", ", resources: {limits: {cpu: 500m, memory: 64Mi}}}]", 1))
		},
		end: func(ctx context.Context, n *node) error { return n.drop(ctx, "bomb") },
	}
}

// logs has a container that writes as fast as it can, within a rotation of 10 MiB, and one line of 100 MB.
func logs() *fault {
	const most = 512 << 20
	return &fault{
		name: "logs", what: "a container that writes logs as fast as it can, and a line of 100 MB", samples: 5, rounds: 2,
		config: "containerLogMaxSize: 10Mi\ncontainerLogMaxFiles: 2\ncontainerLogMonitorInterval: 3s\n",
		begin: func(ctx context.Context, n *node) error {
			line := `[sh, -c, 'head -c 100000000 /dev/zero | tr "\0" x; echo; end=$(($(date +%s) + 60)); while [ $(date +%s) -lt $end ]; do head -c 20000000 /dev/zero | tr "\0" "\n"; done; while sleep 1; do head -c 100000 /dev/zero | tr "\0" "\n"; done']`
			if err := n.run(ctx, "writer", strings.Replace(fmt.Sprintf(plain, "writer"), "[sleep, infinity]", line, 1)); err != nil {
				return err
			}
			return nil
		},
		end: func(ctx context.Context, n *node) error {
			// It writes that much for a minute at most, then some megabytes a second: what was rotated meanwhile goes with the next rotations, so
			// what is kept is to come down to what was requested.
			var size int64
			for range 60 {
				if size = sizeOf(filepath.Join(n.dir, "log")); size < 64<<20 {
					break
				}
				if size > most {
					return errors.Join(fmt.Errorf("the logs take %d MiB", size>>20), n.drop(ctx, "writer"))
				}
				select {
				case <-time.After(2 * time.Second):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			err := n.drop(ctx, "writer")
			if size >= 64<<20 {
				err = errors.Join(err, fmt.Errorf("the logs take %d MiB still", size>>20))
			}
			return err
		},
	}
}

func sizeOf(dir string) (size int64) {
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}
