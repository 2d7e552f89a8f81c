package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/wholefile"
	"github.com/kubeloupe/kubeloupe/inspect/proxy/guard"
	"github.com/kubeloupe/kubeloupe/inspect/proxy/install"
)

// installation sets up a proxy on this node, or removes it.
type installation struct {
	s                                  streams
	runtime, config, kubelet, endpoint string // flags
	yes                                bool

	// Of tests: where units and tmpfiles' lines are, the directory of sockets, this program, and how systemctl is run.
	units, tmpfiles, dir, program string
	configs                       []string
	systemctl                     func(ctx context.Context, args ...string) error
	patience                      time.Duration
}

func newInstallation(s streams) *installation {
	return &installation{
		s: s, units: "/etc/systemd/system", tmpfiles: "/etc/tmpfiles.d", dir: proxyDir,
		configs: []string{"/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"}, systemctl: systemctl, patience: 30 * time.Second,
	}
}

func (i *installation) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&i.config, "kubelet-config", "", "file with the kubelet's containerRuntimeEndpoint, or with its flags; by default "+strings.Join(i.configs, " or "))
	f.StringVar(&i.kubelet, "kubelet-unit", "kubelet.service", "systemd unit of the kubelet")
	f.BoolVar(&i.yes, "yes", false, "restart the kubelet without asking")
	f.SortFlags = false
}

func newProxyInstall(s streams) *cobra.Command {
	i := newInstallation(s)
	c := &cobra.Command{
		Use:   "install",
		Short: "Set up the proxy as a systemd unit, and restart the kubelet once",
		Long: `Set up the proxy as a systemd unit. The kubelet's containerRuntimeEndpoint becomes a symbolic link, which leads to the proxy while
that runs, otherwise to the runtime. This needs one restart of the kubelet; the command asks first. Pods continue to run.`,
		Example: `  kubeloupe proxy install
  kubeloupe proxy install --runtime /run/containerd/containerd.sock`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return i.install(c.Context()) },
	}
	i.add(c)
	c.Flags().StringVar(&i.runtime, "runtime", "", "socket of the container runtime; by default the kubelet's containerRuntimeEndpoint")
	return c
}

func newProxyUninstall(s streams) *cobra.Command {
	i := newInstallation(s)
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the unit of the proxy, and restart the kubelet once",
		Long: `Restore the kubelet's containerRuntimeEndpoint and remove the unit of the proxy. This needs one restart of the kubelet; the command
asks first. To only stop the proxy, use systemctl stop ` + install.Unit + `: the kubelet then connects to the runtime.`,
		Example: `  kubeloupe proxy uninstall`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return i.uninstall(c.Context()) },
	}
	i.add(c)
	return c
}

func newProxyBypass() *cobra.Command {
	var runtime, endpoint string
	c := &cobra.Command{
		Use:     "bypass",
		Short:   "Point the kubelet's endpoint to the runtime",
		Long:    "Lead the symbolic link that the kubelet has as its endpoint to the runtime. The unit of the proxy runs this when the proxy has ended.",
		Example: `  kubeloupe proxy bypass --runtime /run/containerd/containerd.sock --endpoint /run/kubeloupe/containerd.sock`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !filepath.IsAbs(runtime) || !filepath.IsAbs(endpoint) {
				return userError{errors.New("--runtime and --endpoint are required: absolute paths")}
			}
			return guard.Turn(endpoint, runtime)
		},
	}
	c.Flags().StringVar(&runtime, "runtime", "", "socket of the container runtime")
	c.Flags().StringVar(&endpoint, "endpoint", "", "symbolic link that the kubelet has as its containerRuntimeEndpoint")
	return c
}

func (i *installation) unitFile() string { return filepath.Join(i.units, install.Unit) }
func (i *installation) tmpfilesFile() string {
	return filepath.Join(i.tmpfiles, "kubeloupe-proxy.conf")
}

// find returns the kubelet's file with the endpoint, and its text.
func (i *installation) find() (file, text string, err error) {
	all := i.configs
	if i.config != "" {
		all = []string{i.config}
	}
	for _, file := range all {
		p, err := wholefile.Read(file, wholefile.Large)
		if errors.Is(err, fs.ErrNotExist) && i.config == "" {
			continue
		}
		if err != nil {
			return "", "", userError{fmt.Errorf("--kubelet-config: %w", err)}
		}
		if install.Points(string(p)) != "" {
			return file, string(p), nil
		}
	}
	return "", "", userError{fmt.Errorf("no containerRuntimeEndpoint or --container-runtime-endpoint in %s: use --kubelet-config for the file that has it, or run kubeloupe proxy --endpoint LINK yourself and set it to LINK", strings.Join(all, " or "))}
}

func (i *installation) install(ctx context.Context) error {
	file, text, err := i.find()
	if err != nil {
		return err
	}
	has := install.Points(text)
	if i.runtime == "" {
		i.runtime = has
	}
	if i.runtime, err = cri.SocketPath(i.runtime); err != nil {
		return userError{fmt.Errorf("--runtime: %w", err)}
	}
	if i.program == "" {
		if i.program, err = os.Executable(); err != nil {
			return err
		}
	}
	s := install.Setup{Program: i.program, Runtime: i.runtime, Listen: filepath.Join(i.dir, "cri.sock"), Endpoint: install.Endpoint(i.dir, i.runtime), Kubelet: i.kubelet}
	if has == s.Endpoint {
		return userError{fmt.Errorf("the kubelet uses the proxy already (%s): see kubeloupe proxy status", file)}
	}
	if err := s.Check(); err != nil {
		return userError{err}
	}
	if info, err := os.Stat(i.runtime); err != nil || info.Mode().Type() != fs.ModeSocket {
		return userError{fmt.Errorf("%s is not a socket: use --runtime for the container runtime's socket", i.runtime)}
	}
	next, err := install.Point(text, i.runtime, s.Endpoint)
	if err != nil {
		return userError{fmt.Errorf("%s: %w", file, err)}
	}
	if err := i.ask(fmt.Sprintf(`This will
  write %s and %s,
  start the proxy,
  change the container runtime endpoint in %s to %s,
  and restart %s once. Pods continue to run.`, i.unitFile(), i.tmpfilesFile(), file, s.Endpoint, i.kubelet)); err != nil {
		return err
	}
	if err := i.startProxy(ctx, s); err != nil {
		return errors.Join(err, i.removeProxy(ctx, s))
	}
	if err := i.pointKubelet(ctx, file, text, next); err != nil {
		return errors.Join(err, i.removeProxy(ctx, s))
	}
	i.s.note("the kubelet uses the proxy; to look: kubeloupe tui --socket " + filepath.Join(i.dir, socketName))
	return nil
}

// startProxy writes the unit and waits until the proxy can be reached by the link.
func (i *installation) startProxy(ctx context.Context, s install.Setup) error {
	if err := guard.Turn(s.Endpoint, s.Runtime); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(i.tmpfiles, 0o755), wholefile.Write(i.tmpfilesFile(), []byte(s.TmpfilesFile()), 0o644), wholefile.Write(i.unitFile(), []byte(s.UnitFile()), 0o644)); err != nil {
		return err
	}
	if err := errors.Join(i.systemctl(ctx, "daemon-reload"), i.systemctl(ctx, "enable", "--now", install.Unit)); err != nil {
		return err
	}
	for end := time.Now().Add(i.patience); ; {
		if to, err := guard.Leads(s.Endpoint); err == nil && to == s.Listen {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the proxy does not run: see systemctl status %s; the kubelet was not changed", install.Unit)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// removeProxy stops the proxy and removes what was written for it. The link stays: it leads to the runtime.
func (i *installation) removeProxy(ctx context.Context, s install.Setup) error {
	ctx = context.WithoutCancel(ctx)
	err := i.systemctl(ctx, "disable", "--now", install.Unit)
	for _, file := range []string{i.unitFile(), i.tmpfilesFile()} {
		if gone := os.Remove(file); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return errors.Join(err, i.systemctl(ctx, "daemon-reload"), guard.Turn(s.Endpoint, s.Runtime))
}

// pointKubelet changes the kubelet's file and restarts it; if that fails, the file is as it was, and the kubelet is restarted with it.
func (i *installation) pointKubelet(ctx context.Context, file, old, next string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if err := wholefile.Write(file, []byte(next), info.Mode().Perm()); err != nil {
		return err
	}
	if err := i.systemctl(ctx, "restart", i.kubelet); err != nil {
		ctx = context.WithoutCancel(ctx)
		return errors.Join(err, wholefile.Write(file, []byte(old), info.Mode().Perm()), i.systemctl(ctx, "restart", i.kubelet))
	}
	return nil
}

func (i *installation) uninstall(ctx context.Context) error {
	s, err := i.installed()
	if err != nil {
		return err
	}
	file, text, err := i.find()
	if err != nil {
		return err
	}
	if install.Points(text) == s.Endpoint {
		next, err := install.Point(text, s.Endpoint, s.Runtime)
		if err != nil {
			return userError{fmt.Errorf("%s: %w", file, err)}
		}
		if err := i.ask(fmt.Sprintf(`This will
  change the container runtime endpoint in %s back to %s,
  restart %s once (pods continue to run),
  stop the proxy and remove %s and %s.`, file, s.Runtime, i.kubelet, i.unitFile(), i.tmpfilesFile())); err != nil {
			return err
		}
		if err := i.pointKubelet(ctx, file, text, next); err != nil {
			return err
		}
	}
	if err := i.removeProxy(ctx, s); err != nil {
		return err
	}
	if err := os.Remove(s.Endpoint); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	i.s.note("the proxy is removed; the kubelet uses " + s.Runtime)
	return nil
}

// installed returns the setup that the unit has.
func (i *installation) installed() (install.Setup, error) {
	p, err := wholefile.Read(i.unitFile(), wholefile.Large)
	if errors.Is(err, fs.ErrNotExist) {
		return install.Setup{}, userError{fmt.Errorf("no proxy is installed: %s does not exist", i.unitFile())}
	}
	if err != nil {
		return install.Setup{}, userError{err}
	}
	s, err := install.Parse(string(p))
	if err != nil {
		return s, userError{err}
	}
	return s, nil
}

// ask asks whether to go on.
func (i *installation) ask(what string) error {
	if _, err := fmt.Fprintln(i.s.out, what); err != nil {
		return err
	}
	if i.yes {
		return nil
	}
	if !isTerminal(i.s.in) {
		return userError{errors.New("nothing was changed: use --yes, or run the command on a terminal")}
	}
	if _, err := fmt.Fprint(i.s.out, "Continue? [y/N] "); err != nil {
		return err
	}
	answer, err := bufio.NewReader(i.s.in).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); err != nil || a != "y" && a != "yes" {
		return userError{errors.New("nothing was changed")}
	}
	return nil
}

// systemctl runs systemctl.
func systemctl(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemctl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
