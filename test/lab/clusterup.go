package lab

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// UpCluster starts a lab with a cluster in c.Dir, or repairs it, or finds it
// running. What is missing in the cache is built first, which takes many
// minutes once. No agent runs yet: see [Cluster.StartAgent].
//
// kube-proxy writes rules for the whole network namespace, so each network
// namespace has one cluster at most; a second one is refused.
func UpCluster(ctx context.Context, c ClusterConfig) (*Cluster, error) {
	if _, err := checkHost(c.Dir); err != nil {
		return nil, err
	}
	b, err := newBuilder(c.Log)
	if err != nil {
		return nil, err
	}
	want, err := b.cluster(ctx)
	if err != nil {
		return nil, err
	}
	existed := true
	if _, err := Open(c.Dir); errors.Is(err, ErrNoLab) {
		existed = false
	}
	l, err := up(ctx, Config{Dir: c.Dir, Preload: c.Preload, Log: c.Log}, want)
	if err != nil {
		return nil, err
	}
	cluster, err := l.upCluster(ctx, c.Gates)
	if err != nil && !existed {
		err = errors.Join(err, l.Down(context.WithoutCancel(ctx)))
	}
	return cluster, err
}

// cluster makes sure of the programs and images of a cluster.
func (b builder) cluster(ctx context.Context) (*clusterState, error) {
	var s clusterState
	var err error
	if s.Kubernetes, err = b.kubernetes(ctx); err != nil {
		return nil, err
	}
	if s.CoreDNS, err = b.coredns(ctx); err != nil {
		return nil, err
	}
	base, err := b.images(ctx)
	if err != nil {
		return nil, err
	}
	if s.Layout, err = b.e2eImages(ctx, base, s.Kubernetes); err != nil {
		return nil, err
	}
	return &s, nil
}

func (l *Lab) upCluster(ctx context.Context, gates string) (*Cluster, error) {
	unlock, err := lockDir(l.Dir)
	if err != nil {
		return nil, fmt.Errorf("lab directory: %w", err)
	}
	defer unlock()
	if err := claimNetwork(ctx, l.Dir); err != nil {
		return nil, err
	}
	c := newCluster(l)
	s := l.state.Cluster
	if s.Token == "" {
		if s.Token, err = newToken(); err != nil {
			return nil, err
		}
		s.Gates = gates
		s.Processes, s.Agents = make(map[string]process), make(map[string]agentState)
		if err := l.state.save(l.Dir); err != nil {
			return nil, err
		}
	}
	if s.Gates != gates {
		return nil, fmt.Errorf("the cluster in %s was started with the feature gates %q, not %q: take it down first", l.Dir, s.Gates, gates)
	}
	if err := c.writeFiles(); err != nil {
		return nil, err
	}
	programs := c.controlPlane()
	etcd, api, rest := programs[0], programs[1], programs[2:]
	for _, p := range []program{etcd, api} {
		if err := c.startProgram(ctx, p); err != nil {
			return nil, err
		}
		if err := c.await(ctx, p, 2*time.Minute); err != nil {
			return nil, err
		}
	}
	for _, p := range rest {
		if err := c.startProgram(ctx, p); err != nil {
			return nil, err
		}
	}
	if err := c.apply(ctx); err != nil {
		return nil, err
	}
	var group errgroup.Group
	for _, p := range rest {
		group.Go(func() error { return c.await(ctx, p, time.Minute) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return c, c.writeEnv()
}

// apply makes the objects that nodes need. Roles are made by the API server
// after it got ready, so this may take a second try.
func (c *Cluster) apply(ctx context.Context) error {
	var last error
	ok := poll(ctx, 30*time.Second, 200*time.Millisecond, func() bool {
		last = c.applyFile(ctx, "cluster.yaml")
		return last == nil
	})
	if !ok && last == nil {
		last = ctx.Err()
	}
	return last
}

func (c *Cluster) applyFile(ctx context.Context, name string) error {
	out, err := c.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", c.path(name))
	if err != nil {
		return fmt.Errorf("make the cluster's objects of %s: %w: %s", name, err, out)
	}
	return nil
}

// MapCDI gives pods that mount the host's directory of CDI specifications the one of the lab's runtime. Kubernetes' tests of DRA write there.
func (c *Cluster) MapCDI(ctx context.Context) error { return c.applyFile(ctx, "cdi.yaml") }

// Kubectl runs kubectl as the administrator and returns what it said.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Program("kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func newToken() (string, error) {
	var b [11]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:3]) + "." + hex.EncodeToString(b[3:]), nil
}

// networkClaim is the file that names the cluster of this network namespace.
func networkClaim() (string, error) {
	info, err := os.Stat("/proc/self/ns/net")
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.New("no number of the network namespace")
	}
	return fmt.Sprintf("/run/kubeloupe-cluster-%d", st.Ino), nil
}

// claimNetwork takes the network namespace for the cluster in dir, unless a
// cluster in another directory has it. The rules of one that is gone are
// removed.
func claimNetwork(ctx context.Context, dir string) error {
	unlock, err := lockFile(machineLock)
	if err != nil {
		return err
	}
	defer unlock()
	path, err := networkClaim()
	if err != nil {
		return err
	}
	if data, err := os.ReadFile(path); err == nil && string(data) != dir {
		if s, err := loadState(string(data)); err == nil && s != nil && s.Cluster != nil {
			return fmt.Errorf("the cluster in %s has this network namespace already: take it down first (labctl cluster-down --dir %s)", data, data)
		}
		if err := removeAllKubeRules(ctx); err != nil {
			return err
		}
	}
	return writeFile(path, []byte(dir))
}

// releaseNetwork gives the claim of dir back.
func releaseNetwork(dir string) error {
	path, err := networkClaim()
	if err != nil {
		return err
	}
	if data, err := os.ReadFile(path); err == nil && string(data) == dir {
		return os.Remove(path)
	}
	return nil
}
