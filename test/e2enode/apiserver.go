package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/test/vm/node"
)

const (
	// stageServices is the stage of the process that has the API server, servicesEnv its plan.
	stageServices = "services"
	servicesEnv   = "KUBELOUPE_E2E_SERVICES"
	// hostOfMachine is this host's loopback device, as the machine sees it.
	hostOfMachine = "10.0.2.2"
	// apiSocket and kubeletSocket, in the directory of the services, lead to the API server and to the machine's kubelet.
	apiSocket, kubeletSocket = "api.sock", "kubelet.sock"
	// servicesTime is how long the services may take to start, on a host with other work.
	servicesTime = 5 * time.Minute
)

// apiServer is the API server of the tests, with etcd and the controller of namespaces. It runs on this host, because emulation makes it slow, in a
// network namespace of its own, whose address is the machine's: there it reaches the machine's kubelet. The machine reaches it at url.
type apiServer struct {
	url, token string
	dir        string
	listener   net.Listener
	ended      chan error // of the process
	process    *exec.Cmd
	// The way to the machine's kubelet.
	way      sync.WaitGroup
	closeWay context.CancelFunc
}

// servicesPlan is what the process of the services is told.
type servicesPlan struct{ Tests, Dir, Token, Gates string }

// startAPIServer starts the services and waits until the API server answers. Their log goes to logs.
func startAPIServer(ctx context.Context, m *node.Machine, o options, logs string) (_ *apiServer, err error) {
	tests, err := lab.BuildNodeTests(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	a := &apiServer{token: rand.Text(), ended: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if a.dir, err = os.MkdirTemp("", "kl-e2e-api-"); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(logs, "services.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the process has its own
	if err := a.spawn(servicesPlan{Tests: tests.Tests, Dir: a.dir, Token: a.token, Gates: o.gates}, log); err != nil {
		return nil, err
	}
	way, closeWay := context.WithCancel(context.WithoutCancel(ctx))
	a.closeWay = closeWay
	a.way.Go(func() {
		again(way, time.Second, func() {
			_ = m.Forward(way, filepath.Join(a.dir, kubeletSocket), node.Address+":10250").Run() // it ends with the connection
		})
	})
	if a.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(a.listener.Addr().String()) // it is an address
	a.url = "https://" + net.JoinHostPort(hostOfMachine, port)
	api := filepath.Join(a.dir, apiSocket)
	go forward(a.listener, func() (net.Conn, error) { return net.Dial("unix", api) }) //nolint:noctx // a local socket
	return a, a.await(ctx, m, log.Name())
}

// spawn starts this program as the services' process, in a network namespace. It dies with this process.
func (a *apiServer) spawn(p servicesPlan, log io.Writer) error {
	told, err := json.Marshal(p)
	if err != nil {
		return err
	}
	a.process = exec.Command("/proc/self/exe", os.Args[1:]...)
	a.process.Stdout, a.process.Stderr = log, log
	a.process.Env = append(os.Environ(), stageEnv+"="+stageServices, servicesEnv+"="+string(told))
	a.process.SysProcAttr = inOwnNetwork()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the child dies with the thread that made it
		err := a.process.Start()
		started <- err
		if err == nil {
			a.ended <- a.process.Wait()
		}
	}()
	if err := <-started; err != nil {
		a.process = nil
		return err
	}
	return nil
}

// await waits until the machine reaches the API server.
func (a *apiServer) await(ctx context.Context, m *node.Machine, log string) error {
	ctx, cancel := context.WithTimeout(ctx, servicesTime)
	defer cancel()
	for {
		out, err := m.Run(ctx, "curl -sk --max-time 20 -H 'Authorization: Bearer "+a.token+"' "+a.url+"/healthz || true")
		if err == nil && out == "ok" {
			return nil
		}
		select {
		case err := <-a.ended:
			a.process = nil
			return errors.Join(fmt.Errorf("the tests' API server ended: see %s", log), err)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the machine does not reach the tests' API server: %w, %q: see %s", ctx.Err(), out, log), err)
		case <-time.After(time.Second):
		}
	}
}

// close ends the services and removes their directory.
func (a *apiServer) close() (err error) {
	if a.listener != nil {
		err = a.listener.Close()
	}
	if a.closeWay != nil {
		a.closeWay()
		a.way.Wait()
	}
	if a.process != nil {
		_ = a.process.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(time.Minute, func() { _ = a.process.Process.Kill() })
		err = errors.Join(err, <-a.ended)
		kill.Stop()
	}
	if a.dir == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(a.dir))
}
