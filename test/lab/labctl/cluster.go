package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

func clusterUp(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "cluster-up",
		Short: "Start the lab with a Kubernetes cluster, or repair it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			begin := time.Now()
			c, err := lab.UpCluster(cmd.Context(), lab.ClusterConfig{Dir: *dir, Log: cmd.ErrOrStderr()})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the cluster is up after %s\n  API       %s, Kubernetes %s\n  runtime   containerd %s at %s\n  services  %s, DNS at %s\n  use it    . %s\n",
				time.Since(begin).Round(time.Millisecond), c.Server, lab.KubernetesVersion, c.RuntimeVersion, c.RuntimeEndpoint,
				c.ServiceCIDR, c.DNSIP, filepath.Join(c.Dir, lab.EnvFile))
			return err
		},
	}
}

// clusterDown is down: a cluster goes with its lab.
func clusterDown(dir *string) *cobra.Command {
	cmd := down(dir)
	cmd.Use, cmd.Short = "cluster-down", "Stop the cluster and the lab, and remove all of it"
	return cmd
}

func runAgent(dir *string) *cobra.Command {
	var kind, state, program string
	var stay bool
	cmd := &cobra.Command{
		Use:   "run-agent [-- argument...]",
		Short: "Run an agent as the cluster's node until interrupted",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := lab.OpenCluster(*dir)
			if err != nil {
				return fmt.Errorf("%w: labctl cluster-up first", err)
			}
			a, err := c.StartAgent(cmd.Context(), lab.AgentConfig{
				Kind: lab.AgentKind(kind), State: state, Program: program, Args: args, Log: cmd.ErrOrStderr(),
			})
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if _, err := fmt.Fprintf(out, "%s is process %d and writes to %s\n", a.Kind, a.PID(), a.LogFile); err != nil {
				return err
			}
			if err := a.WaitReady(cmd.Context()); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(out, "node %s is ready after %s\n", lab.NodeName, time.Since(a.Started).Round(time.Millisecond)); err != nil || stay {
				return err
			}
			interrupt := make(chan os.Signal, 1)
			signal.Notify(interrupt, syscall.SIGINT, syscall.SIGTERM)
			ended := time.NewTicker(time.Second)
			defer ended.Stop()
			for a.Alive() {
				select {
				case <-cmd.Context().Done():
					return a.Stop(context.WithoutCancel(cmd.Context()))
				case <-interrupt:
				case <-ended.C:
				}
			}
			return fmt.Errorf("%s ended; see %s", a.Kind, a.LogFile)
		},
	}
	cmd.Flags().StringVar(&kind, "agent", string(lab.Kubeloupe), "kubeloupe or upstream")
	cmd.Flags().StringVar(&state, "state", "", "directory of the agent's state, so that several can be kept; \"default\" if empty")
	cmd.Flags().StringVar(&program, "program", "", "the agent's executable; built or taken from the cache if empty")
	cmd.Flags().BoolVar(&stay, "detach", false, "return once the node is ready, and leave the agent running")
	return cmd
}
