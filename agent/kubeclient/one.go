package kubeclient

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubeloupe/kubeloupe/trace"
)

// One makes a single client with connections of its own, not throttled, whose calls are published under name. done ends its
// connections. Of cfg, only REST, Certificate, UserAgent, Bus and Secrets count.
func One(cfg Config, name trace.APIClient) (made kubernetes.Interface, done func(), err error) {
	base := rest.CopyConfig(cfg.REST)
	base.UserAgent = cfg.UserAgent
	setContentType(base, cfg.ContentType)
	conns, err := newConnections(base, cfg.Certificate)
	if err != nil {
		return nil, nil, err
	}
	made, err = kubernetes.NewForConfig(client(base, &cfg, name, nil, -1, 0))
	if err != nil {
		return nil, nil, fmt.Errorf("make the client %s: %w", name, err)
	}
	return made, conns.closeAll, nil
}
