package agent

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podsource"
)

// newMux creates all configured pod sources. No pod is deleted before each of them has reported.
func (p *parts) newMux() (*podsource.Mux, error) {
	k, bus := p.cfg.Kubelet.Sources, p.cfg.Bus
	sources := append([]podsource.Source(nil), p.cfg.Sources...)
	if k.StaticPodPath != "" {
		file, err := podsource.NewFile(podsource.FileConfig{
			Path: k.StaticPodPath, Node: p.cfg.NodeName, Period: k.FileCheckFrequency, Bus: bus,
			Most: max(podsource.DefaultMostManifests, 2*int(p.cfg.Kubelet.Pods.Max)), Refused: p.pods.store.Refused,
			Runs: func(uid types.UID) bool { return p.pleg.Cache().Get(uid) != nil },
		})
		if err != nil {
			return nil, err
		}
		sources = append(sources, file)
	}
	if k.URL != "" {
		p.cfg.secrets.LearnRequest("staticPodURL", k.URL, k.URLHeaders)
		web, err := podsource.NewHTTP(podsource.HTTPConfig{
			URL: k.URL, Header: k.URLHeaders, Node: p.cfg.NodeName, Period: k.URLCheckFrequency, Bus: bus,
		})
		if err != nil {
			return nil, err
		}
		sources = append(sources, web)
	}
	if !p.cluster.alone() {
		api, err := podsource.NewAPI(podsource.APIConfig{
			Client: p.cluster.clients.Main.CoreV1(), Node: p.cfg.NodeName, Mirrors: p.cluster.mirrors, Bus: bus,
			After: p.self.Known(), // a pod that does not match the node's labels and taints is rejected for good
		})
		if err != nil {
			return nil, err
		}
		sources = append(sources, api)
		p.cluster.clients.OnBack(func() {
			api.Wake()
			p.cluster.statuses.Wake()
			p.cluster.mirrors.Wake()
		})
	}
	return podsource.New(podsource.Config{Sources: sources, Bus: bus, Events: p.cluster.events})
}
