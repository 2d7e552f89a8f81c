package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/apiserver"
	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletapi"
	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletpoll"
	"github.com/kubeloupe/kubeloupe/inspect/attach/watch"
	"github.com/kubeloupe/kubeloupe/trace"
)

// deniedAgain is when something is asked for again that was not permitted.
const deniedAgain = time.Minute

// access says what is wrong with the options for the API server.
func (a *attaching) access() error {
	if a.find.InCluster && a.find.Kubeconfig != "" {
		return errors.New("--in-cluster and --kubeconfig: give one of them")
	}
	return nil
}

// observers are those beside the logs that need rights. now returns the kubelet that is running. What cannot be used is said on the bus.
func (a *attaching) observers(found *discover.Found, now func() *discover.Found, bus *trace.Bus) (all []watch.Observer) {
	if a.spans != nil {
		all = append(all, watch.Observer{Name: "the span receiver", Late: a.spanDelay, Run: a.spans.Watch})
	}
	if kubeletClient(found) != nil {
		client := func() *kubeletapi.Client { return kubeletClient(now()) }
		poll := kubeletpoll.New(client, found.PodsAPI == "" && found.Access == nil)
		all = append(all, watch.Observer{Name: "the kubelet's API", Run: patiently(poll.Run)})
	}
	if found.Access == nil {
		return all
	}
	api, err := apiServer(found)
	if err != nil {
		trace.Point(bus, trace.Span{}, trace.Log{Level: trace.LevelError, Message: "attach: the API server cannot be used: " + err.Error()})
		return all
	}
	return append(all,
		watch.Observer{Name: "the API server's list of pods", Run: patiently(api.Pods)},
		watch.Observer{Name: "the API server's Events", Run: patiently(api.Events)})
}

// callTime is how long most calls take at most: their begins wait for their spans, which come after their ends.
const callTime = time.Second

// spanDelay is how late spans come.
func (a *attaching) spanDelay() time.Duration {
	late := a.spans.Late()
	if late > 0 {
		late += callTime
	}
	return late
}

// tokenFile is the token of the service account of the pod that attach runs in.
const tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // a path

// kubeletClient is a client of the kubelet's API by what rights there are; nil where there are none and the read-only port is not enabled. Only
// the kubelet gets credentials: its serving certificate is compared.
func kubeletClient(found *discover.Found) *kubeletapi.Client {
	w := found.Rights
	if w == nil || found.Config.Port == 0 {
		if at := found.ReadOnly(); at != "" {
			return &kubeletapi.Client{Address: at, Plain: true}
		}
		return nil
	}
	c := &kubeletapi.Client{Address: found.API()}
	if s := &found.Config; s.TLSCertFile != "" {
		c.Pins = []string{found.Outside(s.TLSCertFile)}
	} else {
		c.Pins = []string{found.Outside(filepath.Join(s.CertDir, "kubelet-server-current.pem")), found.Outside(filepath.Join(s.CertDir, "kubelet.crt"))}
	}
	switch {
	case w.InCluster:
		c.Token = tokenFile
	case w.Named:
		c.Kubeconfig = w.Kubeconfig
	case w.Kubeconfig != "":
		c.Kubeconfig = found.Outside(w.Kubeconfig)
	default:
		c.Cert, c.Key = found.Outside(w.Cert), found.Outside(w.Key)
	}
	return c
}

// apiServer is the API server that was found.
func apiServer(found *discover.Found) (*apiserver.API, error) {
	a := found.Access
	cfg, err := apiserver.Access{Kubeconfig: a.Kubeconfig, InCluster: a.InCluster}.Config()
	if err != nil {
		return nil, err
	}
	return apiserver.New(cfg, found.Config.NodeName, watch.Back)
}

// patiently runs an observer that is asked less often where it was not permitted to see.
func patiently(run func(context.Context, func(trace.Record)) error) func(context.Context, func(trace.Record)) error {
	var denied error
	return func(ctx context.Context, put func(trace.Record)) error {
		if denied != nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(deniedAgain):
			}
		}
		err := run(ctx, put)
		if denied = nil; errors.Is(err, apiserver.ErrDenied) || errors.Is(err, kubeletapi.ErrDenied) {
			denied = err
		}
		return err
	}
}
