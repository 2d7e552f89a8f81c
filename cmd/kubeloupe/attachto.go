package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// attaching is one run of the attach command.
type attaching struct {
	s      streams
	find   discover.Options
	check  bool
	output string
}

func newAttach(s streams) *cobra.Command {
	a := &attaching{s: s}
	c := &cobra.Command{
		Use:   "attach --check",
		Short: "Find the kubelet of this node that is not kubeloupe, and say what it can be seen by",
		Long: `Find the kubelet that runs on this node: upstream's, also within k3s, k0s and microk8s. --check prints the process, its
configuration, its container runtime, and for each source (logs, sockets, APIs) what it gives, what is missing and how to get it. It
reads /proc and configuration files; it changes nothing and connects to nothing. It needs root.`,
		Example: `  kubeloupe attach --check
  kubeloupe attach --check -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.run(c.Context()) },
	}
	f := c.Flags()
	f.BoolVar(&a.check, "check", false, "print what was found, and change nothing")
	f.StringVarP(&a.output, "output", "o", "", "with --check: json")
	f.IntVar(&a.find.PID, "pid", 0, "the kubelet's process, if there are several; by default it is found by its listeners")
	f.StringVar(&a.find.LogFile, "kubelet-log", "", "file with the kubelet's log, if attach cannot find it")
	f.StringVar(&a.find.RuntimeEndpoint, "container-runtime-endpoint", "", "the runtime's socket, if attach cannot find it, such as unix:///run/containerd/containerd.sock")
	f.SortFlags = false
	return c
}

func (a *attaching) run(_ context.Context) error {
	if a.output != "" && a.output != "json" {
		return userError{fmt.Errorf("--output %q: must be json", a.output)}
	}
	if !a.check {
		return userError{errors.New("a running kubelet cannot be watched yet: use attach --check, or --from with its log")}
	}
	found, err := discover.Discover(discover.Machine{}, a.find)
	if err != nil {
		return userError{err}
	}
	if a.output != "json" {
		return found.Write(textOut(a.s.out))
	}
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.s.out, "%s\n", human.JSON(text))
	return err
}
