package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// restarts has as many pods as a node takes, whose container ends after a second, and starts again as soon as it may.
func restarts() *fault {
	const pods = 108 // beside one that is measured: a node takes 110
	return &fault{
		name: "restarts", what: fmt.Sprintf("%d pods whose container ends every second", pods), samples: 5,
		config: "crashLoopBackOff: {maxContainerRestartPeriod: 1s}\nfeatureGates: {KubeletCrashLoopBackOffMax: true}\n",
		begin: func(ctx context.Context, n *node) error {
			for i := range pods {
				name := fmt.Sprintf("ends-%d", i)
				if err := n.run(ctx, name, strings.Replace(fmt.Sprintf(plain, name), "[sleep, infinity]", "[sleep, '1']", 1)); err != nil {
					return err
				}
			}
			return nil
		},
		end: func(ctx context.Context, n *node) error {
			var err error
			for i := range pods {
				err = errors.Join(err, n.drop(ctx, fmt.Sprintf("ends-%d", i)))
			}
			return err
		},
	}
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
		name: "logs", what: "a container that writes logs as fast as it can, and a line of 100 MB", samples: 3,
		config: "containerLogMaxSize: 10Mi\ncontainerLogMaxFiles: 2\ncontainerLogMonitorInterval: 3s\n",
		begin: func(ctx context.Context, n *node) error {
			line := `[sh, -c, 'head -c 100000000 /dev/zero | tr "\0" x; echo; end=$(($(date +%s) + 60)); while [ $(date +%s) -lt $end ]; do head -c 20000000 /dev/zero | tr "\0" "\n"; done; sleep infinity']`
			if err := n.run(ctx, "writer", strings.Replace(fmt.Sprintf(plain, "writer"), "[sleep, infinity]", line, 1)); err != nil {
				return err
			}
			return nil
		},
		end: func(ctx context.Context, n *node) error {
			// It writes for a minute at most; what is kept is to come down to what was asked for.
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
