package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/agent/cri/sim"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// simulated is the simulated runtime and the directory it lives in.
type simulated struct {
	dir    string
	server *sim.Server
	cancel context.CancelFunc
	done   chan error
}

// newSimulated makes the runtime. Unless the user says where, the agent's state goes
// to the same temporary directory, for it means nothing once the runtime is gone.
func newSimulated(c *cobra.Command, _ *config.Flags) (*simulated, error) {
	dir, err := os.MkdirTemp("", "kubeloupe-sim-")
	if err != nil {
		return nil, fmt.Errorf("directory for the simulated runtime: %w", err)
	}
	s := &simulated{dir: dir, done: make(chan error, 1)}
	if !c.Flags().Changed("root-dir") {
		if err := c.Flags().Set("root-dir", filepath.Join(dir, "kubelet")); err != nil {
			s.remove()
			return nil, err
		}
	}
	other := sim.Image{Name: "any", Layers: []sim.Layer{{Digest: "sha256:any", Size: 8 << 20}}}
	if s.server, err = sim.New(sim.Config{Images: sim.DefaultImages(), AnyImage: &other, ImageFSPath: dir}); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func (s *simulated) socket() string   { return filepath.Join(s.dir, "cri.sock") }
func (s *simulated) endpoint() string { return "unix://" + s.socket() }

// start serves until stop.
func (s *simulated) start() error {
	if s == nil {
		return nil
	}
	lis, err := sim.Listen(s.socket())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.done <- s.server.Serve(ctx, lis) }()
	return nil
}

// stop ends the runtime and all that it simulated.
func (s *simulated) stop() {
	if s == nil {
		return
	}
	if s.cancel != nil {
		s.cancel()
		if err := <-s.done; err != nil {
			fmt.Fprintln(os.Stderr, "kubeloupe:", human.Visible(err.Error()))
		}
	}
	s.server.Close()
	s.remove()
}

func (s *simulated) remove() {
	if s != nil {
		_ = os.RemoveAll(s.dir) // a temporary directory: the system tidies up too
	}
}
