package driver

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthalpha "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/clock"
)

const (
	// healthAgain is how long to wait after a stream of health has ended. Upstream: pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go, add.
	healthAgain = 5 * time.Second
	// pace is the shortest time between two reports of a plugin.
	pace = 100 * time.Millisecond
)

// followHealth takes what a plugin reports about its devices, until ctx ends or the plugin says that it does not report.
func (d *Drivers) followHealth(ctx context.Context, p *Plugin) {
	for {
		err := d.streamHealth(ctx, p)
		d.cfg.Health.End(p.Driver, p.socket)
		if status.Code(err) == codes.Unimplemented || !clock.Sleep(ctx, healthAgain) {
			return
		}
	}
}

func (d *Drivers) streamHealth(ctx context.Context, p *Plugin) error {
	var client healthapi.DRAResourceHealthClient
	if p.health == healthalpha.DRAResourceHealthService {
		client = healthapi.V1Alpha1ClientWrapper{Client: healthalpha.NewDRAResourceHealthClient(p.conn)}
	} else {
		client = healthapi.NewDRAResourceHealthClient(p.conn)
	}
	stream, err := client.NodeWatchResources(ctx, &healthapi.NodeWatchResourcesRequest{})
	if err != nil {
		return err
	}
	for {
		res, err := stream.Recv()
		if err != nil {
			return err
		}
		d.cfg.Health.Report(p.Driver, p.socket, res.GetDevices())
		if !clock.Sleep(ctx, pace) {
			return ctx.Err()
		}
	}
}
