// Command vmctl starts and ends a node in a virtual machine, with kubeloupe as a unit of its systemd: see package node. It is run in the
// work tree.
//
// The directory of the machine is --dir, or $VM_DIR, or kubeloupe-vm in the directory for temporary files.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "vmctl:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "vmctl", Short: "A node with systemd and cgroup v2 in a virtual machine",
		SilenceUsage: true, SilenceErrors: true,
	}
	cmd.PersistentFlags().StringVar(&dir, "dir", cmp.Or(os.Getenv("VM_DIR"), filepath.Join(os.TempDir(), "kubeloupe-vm")), "directory of the machine")
	cmd.AddCommand(up(&dir), down(&dir), ssh(&dir))
	return cmd
}

func up(dir *string) *cobra.Command {
	var program, cluster string
	var cgroupfs, selinux bool
	cmd := &cobra.Command{
		Use: "up", Short: "Boot the machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m, err := node.Open(*dir); err == nil {
				if !m.Ended() {
					return steps(cmd.OutOrStdout(), m, *dir, cluster, "there is already a machine in "+*dir)
				}
				if err := node.Down(cmd.Context(), *dir); err != nil {
					return err
				}
			}
			begin := time.Now()
			cfg := node.Config{
				Dir: *dir, Copy: node.Own(program, "."), Agent: node.Kubeloupe, Disks: true, Cgroupfs: cgroupfs, SELinux: selinux, Detached: true, Log: cmd.ErrOrStderr(),
			}
			if cluster != "" {
				c, err := lab.OpenCluster(cluster)
				if err != nil {
					return err
				}
				cfg.Cluster = c
			}
			m, err := node.Start(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			return steps(cmd.OutOrStdout(), m, *dir, cluster, "the machine is up after "+time.Since(begin).Round(time.Second).String())
		},
	}
	cmd.Flags().StringVar(&program, "program", "bin/kubeloupe", "kubeloupe's program, without cgo")
	cmd.Flags().StringVar(&cluster, "cluster", "", "directory of a lab with a cluster (make cluster-up) that the node joins; without it, the node runs static pods")
	cmd.Flags().BoolVar(&cgroupfs, "cgroupfs", false, "the cgroup driver is cgroupfs in place of systemd")
	cmd.Flags().BoolVar(&selinux, "selinux", false, "the kernel uses SELinux in place of AppArmor, permissive, and containerd labels containers")
	return cmd
}

// steps prints how to reach the machine, and what can be done there.
func steps(w io.Writer, m *node.Machine, dir, cluster, what string) error {
	const text = `%[1]s
  console   %[2]s
  log in    %[3]s
            or: go run ./test/vm/vmctl --dir %[4]s ssh
There:
  systemctl status kubeloupe containerd
  journalctl -fu kubeloupe
  kubeloupe tui --socket /var/lib/kubelet/kubeloupe.sock
  systemd-cgls /kubepods.slice
  cgroup-driver cgroupfs                # or systemd: restarts all pods
%[5]sEnd it: make vm-down
`
	pods := `  cat > /etc/kubernetes/manifests/one.yaml <<-.
	{apiVersion: v1, kind: Pod, metadata: {name: one}, spec: {containers: [{name: main, image: "kubeloupe.local/kubeloupe/busybox:1", command: [sleep, "36000"]}]}}
	.
`
	if cluster != "" {
		pods = "  systemctl start kubelet               # upstream's kubelet takes over; systemctl start kubeloupe takes it back\n"
	}
	_, err := fmt.Fprintf(w, text, what, m.Console, m.Login(), dir, pods)
	return err
}

func down(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "End the machine and remove all of it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := node.Down(cmd.Context(), *dir)
			said := "the machine in " + *dir + " is gone"
			if errors.Is(err, node.ErrNone) {
				said, err = "there is no machine in "+*dir, nil
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
			return err
		},
	}
}

func ssh(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "ssh [-- COMMAND]", Short: "Log in, or run a command there",
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := node.Open(*dir)
			if err != nil {
				return err
			}
			c := m.Shell(cmd.Context(), args...)
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			return c.Run()
		},
	}
}
