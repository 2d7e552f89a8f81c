package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/test/hungfs"
)

const (
	readOnlyAddress = "127.0.0.1:10355"
	// answerTime is how long a summary may take on a machine that is busy. A walk takes as long as its directory is large, a file system that
	// hangs forever.
	answerTime = 30 * time.Second
	// askers ask for the summary at once: as many as are answered at once on this port.
	askers = 8
	files  = 1_000_000
)

// asker asks for /stats/summary all the time, many at once.
type asker struct {
	stop  context.CancelFunc
	all   sync.WaitGroup
	mu    sync.Mutex
	n     int
	worst time.Duration
	err   error
}

func ask(ctx context.Context) *asker {
	ctx, stop := context.WithCancel(ctx)
	a := &asker{stop: stop}
	for range askers {
		a.all.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				_, err := volumesUsed(ctx)
				a.mu.Lock()
				if ctx.Err() == nil {
					a.n, a.worst, a.err = a.n+1, max(a.worst, time.Since(began)), cmp.Or(a.err, err)
				}
				a.mu.Unlock()
				select {
				case <-time.After(500 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	return a
}

// again forgets what was until now.
func (a *asker) anew() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n, a.worst = 0, 0
}

// end says whether all were answered.
func (a *asker) end() error {
	a.stop()
	a.all.Wait()
	fmt.Fprintf(os.Stderr, "  %d summaries, the slowest after %s\n", a.n, a.worst.Round(time.Millisecond))
	if a.n < askers && a.err == nil {
		return fmt.Errorf("%d of %d who ask for a summary got one", a.n, askers)
	}
	return a.err
}

// volumesUsed returns how many inodes the pods' volumes have, by manifest and volume.
func volumesUsed(ctx context.Context) (map[string]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+readOnlyAddress+"/stats/summary", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // it is only read
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("summary: %s", res.Status)
	}
	var sum struct {
		Pods []struct {
			PodRef  struct{ Name string }
			Volumes []struct {
				Name       string
				InodesUsed uint64
			} `json:"volume"`
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&sum); err != nil {
		return nil, fmt.Errorf("summary: %w", err)
	}
	used := map[string]uint64{}
	for _, p := range sum.Pods {
		for _, v := range p.Volumes {
			used[ofManifest(p.PodRef.Name)+" "+v.Name] = v.InodesUsed
		}
	}
	return used, nil
}

// full is a pod whose volume has many files.
const full = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: $BUSYBOX, command: [sleep, infinity], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, emptyDir: {}}]
`

// fill starts such a pod, and makes the files as it could.
func fill(ctx context.Context, n *node, name string) error {
	before, err := n.emptyDirs()
	if err != nil {
		return err
	}
	if err := n.run(ctx, name, fmt.Sprintf(full, name)); err != nil {
		return err
	}
	dirs, err := n.emptyDirs()
	if err != nil || len(dirs) != len(before)+1 {
		return fmt.Errorf("volumes of %s: %v, %w", name, dirs, err)
	}
	dirs = slices.DeleteFunc(dirs, func(d string) bool { return slices.Contains(before, d) }) // they are sorted by UID
	root, err := os.OpenRoot(dirs[0])
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	for i := range files {
		f, err := root.Create(fmt.Sprintf("file-%d", i))
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) emptyDirs() ([]string, error) {
	return filepath.Glob(filepath.Join(n.root, "pods", "*", "volumes", "kubernetes.io~empty-dir", "data"))
}

// millionFiles is a pod that fills its volume with files, while many ask how full it is.
func millionFiles() *fault {
	var asking *asker
	return &fault{
		name: "files", what: fmt.Sprintf("an emptyDir of %d files, and %d who ask for /stats/summary", files, askers), samples: 3, rounds: 1,
		prepare: small("size=64m,nr_inodes=1100k"), flags: []string{"--read-only-port", "10355"},
		usual: func(ctx context.Context, _ *node) error { asking = ask(ctx); return nil },
		begin: func(ctx context.Context, n *node) error {
			if err := fill(ctx, n, "full"); err != nil {
				return errors.Join(err, asking.end())
			}
			asking.anew()
			return nil
		},
		end: func(ctx context.Context, n *node) error {
			err := asking.end()
			began := time.Now()
			for used := uint64(0); err == nil && used < files/10; time.Sleep(time.Second) { // as far as the walk got, on a busy machine
				var all map[string]uint64
				all, err = volumesUsed(ctx)
				if used = all["full data"]; used >= files/10 {
					fmt.Fprintf(os.Stderr, "  %d files are told of\n", used)
				} else if time.Since(began) > patience {
					err = fmt.Errorf("nobody tells of the files: %v", all)
				}
			}
			return errors.Join(err, n.drop(ctx, "full"))
		},
	}
}

// removal ends that pod: its files are removed while others start.
func removal() *fault {
	var gone <-chan struct{}
	var began time.Time
	return &fault{
		name: "removal", what: fmt.Sprintf("a pod ends whose emptyDir has %d files", files), samples: 3, rounds: 1,
		prepare: small("size=64m,nr_inodes=1100k"),
		begin: func(ctx context.Context, n *node) error {
			if err := fill(ctx, n, "full"); err != nil {
				return err
			}
			n.mu.Lock()
			gone = n.expect("full gone")
			n.mu.Unlock()
			began = time.Now()
			return os.Remove(filepath.Join(n.manifests, "full.yaml"))
		},
		end: func(ctx context.Context, n *node) error {
			still := true
			select {
			case <-gone:
				still = false
			default:
			}
			err := n.await(ctx, "the full pod to be gone", gone)
			fmt.Fprintf(os.Stderr, "  it went on after the starts: %v; gone after at most %s\n", still, time.Since(began).Round(time.Millisecond))
			return err
		},
	}
}

// onHung has a volume that is a directory of the node's, of any type or checked by the agent.
const onHung = `
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: $BUSYBOX, command: [sh, -c, "while sleep 0.2; do ls /data; done"], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, hostPath: {path: %s%s}}]
`

// hungVolumes are a running pod whose volume's file system stops answering, where it is mounted as that of an NFS server is, one that has it as
// hostPath, and four that are to start with it.
func hungVolumes() *fault {
	var fs [2]*hungfs.FS
	var asking *asker
	var dir string
	release := func() (err error) { // who waits
		for i, f := range fs {
			if f != nil {
				fs[i], err = nil, errors.Join(err, f.Close())
			}
		}
		return err
	}
	pods := []string{"reads", "mounts", "hung-0", "hung-1", "hung-2", "hung-3"}
	return &fault{
		name: "hung-volumes", what: "file systems of volumes hang: of two pods that run and four that are to start", samples: 3, rounds: 1, quick: true,
		flags: []string{"--read-only-port", "10355"},
		prepare: func(at string) (func() error, error) {
			dir = filepath.Join(at, "hung")
			err := os.Mkdir(dir, 0o755)
			if err == nil {
				fs[0], err = hungfs.Mount(dir)
			}
			return release, err
		},
		usual: func(ctx context.Context, _ *node) error { asking = ask(ctx); return nil },
		begin: func(ctx context.Context, n *node) error {
			if err := errors.Join(n.run(ctx, "reads", fmt.Sprintf(onHung, "reads", dir, "")), n.run(ctx, "mounts", fmt.Sprintf(full, "mounts"))); err != nil {
				return err
			}
			volumes, err := n.emptyDirs()
			if err != nil || len(volumes) != 1 {
				return fmt.Errorf("volumes: %v, %w", volumes, err)
			}
			if fs[1], err = hungfs.Mount(volumes[0]); err != nil {
				return err
			}
			for _, f := range fs {
				f.Hang()
			}
			asking.anew()
			for i, typ := range []string{"", ", type: Directory", "", ", type: DirectoryOrCreate"} {
				name := fmt.Sprintf("hung-%d", i)
				if err := n.put(name+".yaml", fmt.Sprintf(onHung, name, dir, typ)); err != nil {
					return errors.Join(err, asking.end(), release())
				}
			}
			return nil
		},
		end: func(ctx context.Context, n *node) error {
			err := asking.end()
			var gone []<-chan struct{}
			n.mu.Lock()
			for _, name := range pods {
				gone = append(gone, n.expect(name+" gone"))
			}
			n.mu.Unlock()
			for _, name := range pods {
				err = errors.Join(err, os.Remove(filepath.Join(n.manifests, name+".yaml")))
			}
			start, other := n.start(ctx) // one more starts and ends while these cannot
			fmt.Fprintf(os.Stderr, "  while they end: a start takes %s\n", start.all.Round(time.Millisecond))
			err = errors.Join(err, other)
			err = errors.Join(err, release())
			for i, name := range pods {
				err = errors.Join(err, n.await(ctx, name+" to be gone, as nothing hangs any more", gone[i]))
			}
			return err
		},
	}
}
