package csi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
)

// publish calls the driver to mount the volume at a path of the pod.
//
// Upstream: pkg/volume/csi/csi_mounter.go, SetUpAt.
func (w *work) publish(ctx context.Context, path string) error {
	req, err := w.publishRequest(ctx, path)
	if err != nil {
		return err
	}
	_, err = w.d.node.NodePublishVolume(ctx, req)
	if err != nil && final(err) && !w.spec.Adopt && !w.spec.Refresh {
		_ = removeTarget(path)
	}
	return err
}

func (w *work) publishRequest(ctx context.Context, path string) (*csipb.NodePublishVolumeRequest, error) {
	secrets, err := w.p.secret(ctx, w.spec.PodUID, "NodePublishSecretRef", w.v.publishSecret)
	switch {
	case err != nil && w.spec.Block:
		return nil, fmt.Errorf("kubernetes.io/csi: blockMapper.publishVolumeForBlock failed to get NodePublishSecretRef %s: %w", nameOf(w.v.publishSecret), err)
	case err != nil:
		return nil, fmt.Errorf("fetching NodePublishSecretRef %s failed: %w", nameOf(w.v.publishSecret), err)
	}
	access, err := w.d.access(ctx, w.v, w.spec.Block, w.delegated(ctx))
	if err != nil {
		return nil, err
	}
	attributes := maps.Clone(w.v.attributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	if w.info.podInfo() {
		maps.Copy(attributes, podInfo(w.spec.Pod, w.v))
	}
	if !w.spec.Block {
		tokens, err := w.tokens(ctx)
		if err != nil {
			return nil, err
		}
		to := attributes
		if w.info != nil && w.info.Spec.ServiceAccountTokenInSecrets != nil && *w.info.Spec.ServiceAccountTokenInSecrets {
			to = secrets
		}
		maps.Copy(to, tokens)
	}
	return &csipb.NodePublishVolumeRequest{
		VolumeId: w.v.handle, TargetPath: path, StagingTargetPath: w.staged, Readonly: w.v.readOnly,
		PublishContext: w.attached, VolumeContext: attributes, Secrets: secrets, VolumeCapability: access,
	}, nil
}

// Upstream: pkg/volume/csi/csi_util.go, getPodInfoAttrs.
func podInfo(pod *v1.Pod, v vol) map[string]string {
	return map[string]string{
		"csi.storage.k8s.io/pod.name":            pod.Name,
		"csi.storage.k8s.io/pod.namespace":       pod.Namespace,
		"csi.storage.k8s.io/pod.uid":             string(pod.UID),
		"csi.storage.k8s.io/serviceAccount.name": pod.Spec.ServiceAccountName,
		"csi.storage.k8s.io/ephemeral":           strconv.FormatBool(v.ephemeral),
	}
}

// tokens returns tokens of the pod's service account, for the audiences that the driver requires.
//
// Upstream: pkg/volume/csi/csi_mounter.go, podServiceAccountTokenAttrs.
func (w *work) tokens(ctx context.Context) (map[string]string, error) {
	if w.info == nil || len(w.info.Spec.TokenRequests) == 0 {
		return nil, nil
	}
	if w.p.cfg.Tokens == nil {
		return nil, errors.New("the driver asks for service account tokens, and this agent cannot get any")
	}
	pod := w.spec.Pod
	got := map[string]authenticationv1.TokenRequestStatus{}
	for _, r := range w.info.Spec.TokenRequests {
		var audiences []string
		if r.Audience != "" {
			audiences = []string{r.Audience}
		}
		tr, err := w.p.cfg.Tokens.Token(ctx, pod.Namespace, pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{
				Audiences: audiences, ExpirationSeconds: r.ExpirationSeconds,
				BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
			},
		})
		if err != nil {
			return nil, fmt.Errorf("kubernetes.io/csi: mounter.SetUpAt failed to get service account token attributes: %w", err)
		}
		got[r.Audience] = tr.Status
	}
	text, err := json.Marshal(got)
	if err != nil {
		return nil, err
	}
	return map[string]string{"csi.storage.k8s.io/serviceAccount.tokens": string(text)}, nil
}
