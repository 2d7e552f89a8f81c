package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/agent/cri"
)

// tourNode is the node's name, in which the names of static pods end.
const tourNode = "tour"

// tourPatience is how long the tour waits for what it has caused; an image may come from far.
const tourPatience = 5 * time.Minute

// tour is one tour and the node that it shows.
type tour struct {
	s      streams
	opt    tourOptions
	dir    string
	socket string
	node   *node
	keys   *keys
	net    network
	began  map[string]bool // pods that the tour has put there

	runtime  *cri.Client     // for what the tour itself asks; nil until it does
	before   map[string]bool // ids of images that a real runtime had
	foreign  []string        // of them, those that a collection would remove though the tour does not name them
	ownGroup bool            // the cgroup is the tour's
}

func (t *tour) simulated() bool      { return t.opt.runtime == runtimeSim }
func (t *tour) manifests() string    { return filepath.Join(t.dir, "manifests") }
func (t *tour) root() string         { return filepath.Join(t.dir, "kubelet") }
func (t *tour) file(p string) string { return filepath.Join(t.manifests(), p+".yaml") }

// settings are the agent's: nothing of the host's is used. Images may go as soon as nothing uses them, and go only when
// the tour asks; a disk that is full keeps nobody from it.
const settings = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
enableServer: false
healthzPort: 0
podLogsDir: %s
imageMinimumGCAge: 1ms
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: "0%%", nodefs.available: "0%%", nodefs.inodesFree: "0%%", imagefs.available: "0%%", imagefs.inodesFree: "0%%"}
`

// build makes the node. It is started later; all that the user has to fix is known now.
func (t *tour) build(ctx context.Context) error {
	if err := os.Mkdir(t.manifests(), 0o755); err != nil {
		return err
	}
	file := filepath.Join(t.dir, "config.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, settings, filepath.Join(t.dir, "log")), 0o600); err != nil {
		return err
	}
	args := []string{
		"--runtime", t.opt.runtime, "--config", file, "--pod-manifest-path", t.manifests(), "--root-dir", t.root(),
		"--control-socket", t.socket, "--hostname-override", tourNode, "--no-tui",
	}
	if !t.simulated() {
		args = append(args, t.real()...)
	}
	var o nodeOptions
	c := &cobra.Command{}
	o.add(c)
	if err := c.ParseFlags(args); err != nil {
		return err
	}
	c.SetContext(ctx)
	var err error
	if t.node, err = o.build(c, nil); err != nil {
		return err
	}
	if t.simulated() {
		t.net = simNetwork{t.node.sim.server}
		return nil
	}
	return t.checkReal(ctx)
}

// cri is a connection of the tour's own: what it asks is not among the agent's calls.
func (t *tour) cri(ctx context.Context) (*cri.Client, error) {
	if t.runtime == nil {
		c, err := cri.Dial(ctx, cri.Config{Endpoint: t.node.cfg.Endpoint})
		if err != nil {
			return nil, err
		}
		t.runtime = c
	}
	return t.runtime, nil
}

// welcome is what is said at the beginning.
func (t *tour) welcome() string {
	what := "The container runtime is simulated: no root, no real containers. The agent, its records and the output of the commands are real."
	if !t.simulated() {
		what = fmt.Sprintf("The container runtime at %s is real, and so are the pods.", strings.TrimPrefix(t.node.cfg.Endpoint, "unix://"))
	}
	return "A tour of kubeloupe. A node agent runs in this process; its directory is " + t.dir + ". " + what +
		" Each chapter shows a command and its output. While the tour waits, you can run this command and others in another terminal. " +
		"At the end, the tour removes everything that it created."
}
