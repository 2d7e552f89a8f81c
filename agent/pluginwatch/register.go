package pluginwatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Upstream: pkg/kubelet/pluginmanager/operationexecutor.
const (
	infoTimeout   = time.Second
	notifyTimeout = 5 * time.Second
)

// register gets a plugin's identity from its socket, calls the handler, and notifies the plugin of the result.
//
// Upstream: pkg/kubelet/pluginmanager/operationexecutor, GenerateRegisterPluginFunc.
func (w *Watcher) register(ctx context.Context, path string) (*plugin, error) {
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("plugin at %s: %w", path, err)
	}
	defer conn.Close() //nolint:errcheck // a connection that was used up
	client := registerapi.NewRegistrationClient(conn)
	short, cancel := context.WithTimeout(ctx, infoTimeout)
	info, err := client.GetInfo(short, &registerapi.InfoRequest{}, grpc.WaitForReady(true))
	cancel()
	if err != nil {
		err = fmt.Errorf("plugin at %s does not identify itself: %w", path, err)
		w.decide(ctx, path, trace.VerdictRefused, err.Error())
		return nil, err
	}
	p := &plugin{kind: info.GetType(), name: info.GetName(), endpoint: info.GetEndpoint()}
	if p.endpoint == "" {
		p.endpoint = path
	}
	if err = w.take(ctx, p, path, info.GetSupportedVersions()); err != nil {
		w.decide(ctx, p.name, trace.VerdictRefused, err.Error())
		return nil, errors.Join(err, notify(ctx, client, err.Error()))
	}
	if err := notify(ctx, client, ""); err != nil {
		w.cfg.Handlers[p.kind].Deregister(ctx, p.name, p.endpoint)
		err = fmt.Errorf("notify plugin %s of its registration: %w", p.name, err)
		w.decide(ctx, p.name, trace.VerdictRefused, err.Error())
		return nil, err
	}
	w.decide(ctx, p.name, trace.VerdictRegistered, fmt.Sprintf("%s at %s", p.kind, p.endpoint))
	return p, nil
}

// take has the handler register a plugin. The messages are upstream's.
func (w *Watcher) take(ctx context.Context, p *plugin, path string, versions []string) error {
	h := w.cfg.Handlers[p.kind]
	if h == nil {
		return fmt.Errorf("RegisterPlugin error -- no handler registered for plugin type: %s at socket %s", p.kind, path)
	}
	err := h.Register(ctx, p.name, p.endpoint, versions)
	if _, invalid := errors.AsType[*InvalidError](err); invalid {
		return fmt.Errorf("RegisterPlugin error -- plugin validation failed with err: %w", err)
	}
	if err != nil {
		return fmt.Errorf("RegisterPlugin error -- plugin registration failed with err: %w", err)
	}
	return nil
}

func notify(ctx context.Context, client registerapi.RegistrationClient, problem string) error {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	_, err := client.NotifyRegistrationStatus(ctx, &registerapi.RegistrationStatus{PluginRegistered: problem == "", Error: problem})
	return err
}
