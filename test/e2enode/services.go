package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

// kubeAPI is where the tests' API server listens; their program has no option for it.
const kubeAPI = "127.0.0.1:6443"

// serve runs the tests' services in this network namespace until ctx ends, and passes connections between them and the sockets of the plan.
func serve(ctx context.Context) error {
	var p servicesPlan
	if err := json.Unmarshal([]byte(os.Getenv(servicesEnv)), &p); err != nil {
		return fmt.Errorf("%s: %w", servicesEnv, err)
	}
	for _, args := range []string{ // the API server wants the address of a device with a default route for its own
		"link set lo up",
		"link add node0 type veth peer name away",
		"address add " + node.Address + "/24 dev node0",
		"link set away up",
		"link set node0 up",
		"route add default via " + hostOfMachine,
	} {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	var listen net.ListenConfig
	api, err := listen.Listen(ctx, "unix", filepath.Join(p.Dir, apiSocket))
	if err != nil {
		return err
	}
	kubelet, err := listen.Listen(ctx, "tcp", node.Address+":10250")
	if err != nil {
		return err
	}
	go forward(api, func() (net.Conn, error) { return net.Dial("tcp", kubeAPI) })                                  //nolint:noctx // a local address
	go forward(kubelet, func() (net.Conn, error) { return net.Dial("unix", filepath.Join(p.Dir, kubeletSocket)) }) //nolint:noctx // a local socket
	cmd := exec.CommandContext(ctx, p.Tests, p.args()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+p.Dir) // for what is left if it is killed
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); ctx.Err() == nil {
		return errors.Join(errors.New("the services ended"), err)
	}
	return nil
}

// args has the tests' program run the services alone.
func (p servicesPlan) args() []string {
	args := []string{"--run-services-mode", "--bearer-token=" + p.Token, "--report-dir=" + p.Dir, "--v=2"}
	if p.Gates != "" {
		args = append(args, gateFlags(p.Gates)...)
	}
	return args
}
