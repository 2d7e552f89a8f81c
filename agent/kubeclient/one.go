package kubeclient

import (
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
	"github.com/kubeloupe/kubeloupe/trace"
)

// One creates a single client with separate connections and without throttling, whose calls are published under name. done closes
// its connections. Only REST, Certificate, UserAgent, Bus and Secrets of cfg are used.
func One(cfg Config, name trace.APIClient) (made kubeapi.Interface, done func(), err error) {
	base := rest.CopyConfig(cfg.REST)
	base.UserAgent = cfg.UserAgent
	setContentType(base, cfg.ContentType)
	conns, err := newConnections(base, cfg.Certificate)
	if err != nil {
		return nil, nil, err
	}
	made, err = kubeapi.New(client(base, &cfg, name, nil, -1, 0))
	if err != nil {
		return nil, nil, fmt.Errorf("create the client %s: %w", name, err)
	}
	return made, conns.closeAll, nil
}
