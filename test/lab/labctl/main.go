// Command labctl starts and stops laboratories: see package lab.
//
// The directory of the lab is --dir, or $LAB_DIR, or kubeloupe-lab in the
// directory for temporary files.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "labctl:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:           "labctl",
		Short:         "A private containerd, registry and Kubernetes cluster for tests and demonstrations",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	fallback := cmp.Or(os.Getenv("LAB_DIR"), filepath.Join(os.TempDir(), "kubeloupe-lab"))
	cmd.PersistentFlags().StringVar(&dir, "dir", fallback, "directory of the lab")
	cmd.AddCommand(build(), up(&dir), down(&dir), status(&dir), env(&dir), execute(&dir), limit(&dir),
		clusterUp(&dir), clusterDown(&dir), runAgent(&dir))
	return cmd
}

// build leaves nothing to be built or installed for the tests.
func build() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build and install all that labs, clusters and tests are made of, and start nothing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, driver := lab.BuildDRADriver(cmd.Context(), cmd.ErrOrStderr())
			_, collector := lab.BuildCollector(cmd.Context(), cmd.ErrOrStderr())
			return errors.Join(
				lab.BuildCluster(cmd.Context(), cmd.ErrOrStderr()), driver, collector,
				lab.Chromium(cmd.Context(), cmd.ErrOrStderr()),
			)
		},
	}
}

func up(dir *string) *cobra.Command {
	var preload []string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the lab, or repair it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := lab.Config{Dir: *dir, Log: cmd.ErrOrStderr()}
			if cmd.Flags().Changed("preload") {
				c.Preload = []lab.Image{}
				for _, i := range preload {
					c.Preload = append(c.Preload, lab.Image(i))
				}
			}
			begin := time.Now()
			l, err := lab.Up(cmd.Context(), c)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if l.Existing {
				_, err = fmt.Fprintf(out, "the lab in %s is up already\n", l.Dir)
			} else {
				_, err = fmt.Fprintf(out, "the lab is up after %s\n  runtime   containerd %s at %s\n  registry  %s\n  use it    . %s\n",
					time.Since(begin).Round(time.Millisecond), l.RuntimeVersion, l.RuntimeEndpoint, l.Registry, filepath.Join(l.Dir, lab.EnvFile))
			}
			return err
		},
	}
	cmd.Flags().StringSliceVar(&preload, "preload", []string{"pause", "busybox", "http"}, "images to pull into containerd (also 60m, smallfiles)")
	return cmd
}

func down(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the lab and remove all of it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := os.Stat(*dir); errors.Is(err, os.ErrNotExist) {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "there is no lab in %s\n", *dir)
				return err
			}
			begin := time.Now()
			if err := lab.Down(cmd.Context(), *dir); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "the lab in %s is gone after %s\n", *dir, time.Since(begin).Round(time.Millisecond))
			return err
		},
	}
}

func status(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether the lab is up; fails if it is not",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(*dir)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
			defer cancel()
			if err := l.Ready(ctx); err != nil {
				return fmt.Errorf("the lab in %s is not up: %w", l.Dir, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "up: containerd %s (process %d, %s), registry %s, pods in %s\n",
				l.RuntimeVersion, l.ContainerdPID(), l.Snapshotter, l.Registry, l.Subnet)
			return err
		},
	}
}

func env(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print the lab's environment for a shell to evaluate",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(*dir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), l.EnvScript())
			return err
		},
	}
}

func execute(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "exec -- command [argument]...",
		Short: "Run a command in the lab's environment",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lab.Open(*dir)
			if err != nil {
				return err
			}
			c := exec.CommandContext(cmd.Context(), args[0], args[1:]...)
			c.Env = append(os.Environ(), l.Env()...)
			c.Stdin, c.Stdout, c.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
			return c.Run()
		},
	}
}

func limit(dir *string) *cobra.Command {
	var (
		rate    string
		latency time.Duration
	)
	cmd := &cobra.Command{
		Use:   "limit",
		Short: "Make the registry slow, or fast again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bytes, err := parseRate(rate)
			if err != nil {
				return err
			}
			l, err := lab.Open(*dir)
			if err != nil {
				return err
			}
			return l.SetLimits(cmd.Context(), lab.Limits{Rate: bytes, Latency: latency})
		},
	}
	cmd.Flags().StringVar(&rate, "rate", "0", "bytes a second for all downloads together, as 16MiB; 0 is without limit")
	cmd.Flags().DurationVar(&latency, "latency", 0, "time before each answer, as 20ms")
	return cmd
}

// parseRate reads a number of bytes with an optional KiB, MiB or GiB.
func parseRate(s string) (int64, error) {
	number, factor := s, int64(1)
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			number, factor = n, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1<<32 {
		return 0, fmt.Errorf("--rate %s: want a number of bytes a second, as 16MiB", s)
	}
	return n * factor, nil
}
