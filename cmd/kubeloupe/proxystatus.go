package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/inspect/proxy/guard"
	"github.com/kubeloupe/kubeloupe/inspect/proxy/install"
)

func newProxyStatus(s streams) *cobra.Command {
	i := newInstallation(s)
	c := &cobra.Command{
		Use:   "status",
		Short: "Show whether the kubelet's calls go through the proxy",
		Long: `Show whether the kubelet's calls go through the proxy that is installed as a systemd unit, or with --endpoint, through one that was
started in another way. It exits with status 1 if the endpoint leads to a socket on which nobody listens: then the kubelet has no container
runtime.`,
		Example: `  kubeloupe proxy status
  kubeloupe proxy status --runtime /run/containerd/containerd.sock --endpoint /run/kubeloupe/containerd.sock`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return i.status(c.Context()) },
	}
	f := c.Flags()
	f.StringVar(&i.config, "kubelet-config", "", "file with the kubelet's containerRuntimeEndpoint, or with its flags")
	f.StringVar(&i.endpoint, "endpoint", "", "the proxy's --endpoint, if it has no unit")
	f.StringVar(&i.runtime, "runtime", "", "the proxy's --runtime, if it has no unit")
	f.SortFlags = false
	return c
}

func (i *installation) status(ctx context.Context) error {
	s, unit := install.Setup{Endpoint: i.endpoint, Runtime: i.runtime}, "none"
	if i.endpoint == "" {
		var err error
		if s, err = i.installed(); err != nil {
			return err
		}
		unit = install.Unit + ": active"
		if err := i.systemctl(ctx, "is-active", "--quiet", install.Unit); err != nil {
			unit = install.Unit + ": not active"
		}
	} else if !filepath.IsAbs(i.endpoint) {
		return userError{fmt.Errorf("--endpoint %q: must be an absolute path", i.endpoint)}
	}
	to, err := guard.Leads(s.Endpoint)
	leads := "leads to " + to
	switch {
	case err != nil:
		leads = err.Error()
	case to == s.Listen:
		leads = "leads to the proxy"
	case to == s.Runtime:
		leads = "leads to the runtime"
	}
	connected := "0: the kubelet connects when it or the runtime restarts"
	if n := connections(cmp.Or(s.Listen, to)); n > 0 && to != s.Runtime {
		connected = fmt.Sprint(n)
	}
	var dead error
	if err == nil && !listened(to) {
		leads += ", and nobody listens there"
		dead = fmt.Errorf("nobody listens on %s: the kubelet has no container runtime, and its node becomes NotReady; containers continue to run. Start the proxy again, or run kubeloupe proxy bypass --runtime %s --endpoint %s",
			to, cmp.Or(s.Runtime, "SOCKET"), s.Endpoint)
	}
	kubelet := "its file was not found"
	if file, text, err := i.find(); err == nil {
		kubelet = fmt.Sprintf("%s has %s", file, install.Points(text))
	}
	_, err = fmt.Fprintf(i.s.out, "unit         %s\nruntime      %s\nendpoint     %s %s\nkubelet      %s\nconnections  %s\n",
		unit, cmp.Or(s.Runtime, "not known: use --runtime"), s.Endpoint, leads, kubelet, connected)
	return errors.Join(err, dead)
}

// listened reports whether somebody accepts connections at a socket.
func listened(socket string) bool {
	c, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return false
	}
	c.Close() //nolint:errcheck // nothing was said
	return true
}

// connections is how many there are to a socket, as the kernel tells (/proc/net/unix: a line of eight columns each, the state being the
// sixth, and 03 for connected).
func connections(socket string) (n int) {
	p, err := wholefile.Read("/proc/net/unix", wholefile.Large)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(p)) {
		if f := strings.Fields(line); len(f) == 8 && f[5] == "03" && f[7] == socket {
			n++
		}
	}
	return n
}
