// Command csidriver is a small CSI driver for tests: volumes are directories, bind-mounted.
//
// It is a process of its own, as a real driver is: it serves the identity, controller and node
// services on one socket, and the kubelet's registration on another. Volumes outlive it. Each call
// that it answers is a line of JSON on standard output.
//
// A volume that nobody created is made when it is first staged or published, so that persistent
// volumes can be written manually. A block volume is a file: there is no loop device in a lab.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path"
	"sync"
	"syscall"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/mount-utils"
)

// config is what the flags say.
type config struct {
	name, node         string
	endpoint, registry string
	data               string
	noStage, noExpand  bool
	maxVolumes         int64
}

func main() {
	var c config
	flag.StringVar(&c.name, "name", "lab.csi.kubeloupe.dev", "the driver's name")
	flag.StringVar(&c.node, "node", "lab", "the node's id and topology")
	flag.StringVar(&c.endpoint, "endpoint", "", "socket of the driver")
	flag.StringVar(&c.registry, "registration", "", "socket of the registration, in the kubelet's plugins_registry")
	flag.StringVar(&c.data, "data", "", "directory of the volumes")
	flag.BoolVar(&c.noStage, "no-stage", false, "publish without staging")
	flag.BoolVar(&c.noExpand, "no-expand", false, "no growth on the node")
	flag.Int64Var(&c.maxVolumes, "max-volumes", 0, "how many volumes the node takes; 0 is not told")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, c)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "csidriver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) error {
	if c.endpoint == "" || c.registry == "" || c.data == "" {
		return errors.New("-endpoint, -registration and -data are needed")
	}
	d := &driver{config: c, mounter: mount.New("")}
	csi := grpc.NewServer(grpc.UnaryInterceptor(d.log))
	csipb.RegisterIdentityServer(csi, identity{d: d})
	csipb.RegisterControllerServer(csi, controller{d: d})
	csipb.RegisterNodeServer(csi, node{d: d})
	reg := grpc.NewServer(grpc.UnaryInterceptor(d.log))
	registerapi.RegisterRegistrationServer(reg, registration{d: d})
	failed := make(chan error, 2)
	for _, s := range []struct {
		server *grpc.Server
		path   string
	}{{csi, c.endpoint}, {reg, c.registry}} {
		_ = os.Remove(s.path) // of an earlier run that was killed
		l, err := (&net.ListenConfig{}).Listen(ctx, "unix", s.path)
		if err != nil {
			return err
		}
		go func() { failed <- s.server.Serve(l) }()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	reg.GracefulStop()
	csi.GracefulStop()
	return nil
}

// driver is what the services share.
type driver struct {
	config
	mounter mount.Interface
	// mu has one call change volumes at a time.
	mu  sync.Mutex
	out sync.Mutex
}

// line is the text of a call.
type line struct {
	Method  string            `json:"method"`
	Volume  string            `json:"volume,omitempty"`
	Path    string            `json:"path,omitempty"`
	Context map[string]string `json:"context,omitempty"`
	Publish map[string]string `json:"publish,omitempty"`
	Secrets []string          `json:"secrets,omitempty"`
	Code    string            `json:"code"`
	Err     string            `json:"err,omitempty"`
}

func (d *driver) log(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	resp, err := handle(ctx, req)
	l := line{Method: path.Base(info.FullMethod), Code: status.Code(err).String()}
	if err != nil {
		l.Err = status.Convert(err).Message()
	}
	if r, ok := req.(interface{ GetVolumeId() string }); ok {
		l.Volume = r.GetVolumeId()
	}
	if r, ok := req.(interface{ GetTargetPath() string }); ok {
		l.Path = r.GetTargetPath()
	} else if r, ok := req.(interface{ GetStagingTargetPath() string }); ok {
		l.Path = r.GetStagingTargetPath()
	}
	if r, ok := req.(interface{ GetVolumeContext() map[string]string }); ok {
		l.Context = r.GetVolumeContext()
	}
	if r, ok := req.(interface{ GetPublishContext() map[string]string }); ok {
		l.Publish = r.GetPublishContext()
	}
	if r, ok := req.(interface{ GetSecrets() map[string]string }); ok {
		for k := range r.GetSecrets() {
			l.Secrets = append(l.Secrets, k)
		}
	}
	if r, ok := req.(*registerapi.RegistrationStatus); ok && r.GetError() != "" {
		l.Err = r.GetError()
	}
	d.out.Lock()
	defer d.out.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(l)
	return resp, err
}
