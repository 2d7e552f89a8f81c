package objcache

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"

	certv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/kubeloupe/kubeloupe/agent/kubeapi"
)

const certificate = "CERTIFICATE"

// newBundles follows the cluster's trust bundles, once started.
func (c *Objects) newBundles() (cache.SharedIndexInformer, error) {
	inf := kubeapi.NewInformer(c.cfg.Client, c.cfg.Client.CertificatesV1().ClusterTrustBundles(), &certv1.ClusterTrustBundle{}, cache.Indexers{}, nil)
	changed := func() {
		if !inf.HasSynced() {
			return
		}
		c.mu.Lock()
		tell := maps.Clone(c.trusting)
		c.mu.Unlock()
		c.tell(tell)
	}
	_, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	})
	return inf, err
}

// startBundles starts the informer of trust bundles, once. Called with mu.
func (c *Objects) startBundles() {
	if !c.started {
		c.started = c.start(func() { c.bundles.RunWithContext(c.life) })
	}
}

// TrustAnchors returns the content of a projected source of trust bundles: each certificate once, in a stable order.
//
// Upstream: pkg/kubelet/clustertrustbundle, GetTrustAnchorsByName, GetTrustAnchorsBySigner.
func (c *Objects) TrustAnchors(ctx context.Context, src *v1.ClusterTrustBundleProjection) ([]byte, error) {
	c.mu.Lock()
	c.startBundles()
	c.mu.Unlock()
	if err := c.synced(ctx, "ClusterTrustBundles", c.bundles); err != nil {
		return nil, err
	}
	optional := src.Optional != nil && *src.Optional
	switch {
	case src.Name != nil:
		obj, ok, err := c.bundles.GetStore().GetByKey(*src.Name)
		switch {
		case err != nil:
			return nil, err
		case !ok && optional:
			return nil, nil
		case !ok:
			return nil, fmt.Errorf("clustertrustbundle %q not found", *src.Name)
		}
		return anchors([]any{obj}), nil
	case src.SignerName != nil:
		found, err := selected(c.bundles.GetStore().List(), *src.SignerName, src.LabelSelector)
		if err != nil || len(found) == 0 && optional {
			return nil, err
		}
		if len(found) == 0 {
			return nil, errors.New("combination of signerName and labelSelector matched zero ClusterTrustBundles")
		}
		return anchors(found), nil
	}
	return nil, errors.New("ClusterTrustBundle projection requires either name or signerName to be set")
}

// selected returns the matching bundles. A nil selector matches none, an empty one all.
func selected(all []any, signer string, by *metav1.LabelSelector) ([]any, error) {
	sel, err := metav1.LabelSelectorAsSelector(by)
	if err != nil {
		return nil, fmt.Errorf("clusterTrustBundle.labelSelector: %w", err)
	}
	return slices.DeleteFunc(all, func(o any) bool {
		b, ok := o.(*certv1.ClusterTrustBundle)
		return !ok || b.Spec.SignerName != signer || !sel.Matches(labels.Set(b.Labels))
	}), nil
}

func anchors(bundles []any) []byte {
	seen := map[string]bool{}
	for _, o := range bundles {
		b, ok := o.(*certv1.ClusterTrustBundle)
		if !ok {
			continue
		}
		for block, rest := pem.Decode([]byte(b.Spec.TrustBundle)); block != nil; block, rest = pem.Decode(rest) {
			seen[string(block.Bytes)] = true
		}
	}
	var out []byte
	for _, der := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: certificate, Bytes: []byte(der)})...)
	}
	return out
}
