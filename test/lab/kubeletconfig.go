package lab

import (
	"context"
	"fmt"
	"os"
	"time"

	certificates "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// WriteKubeletConfig writes a changed copy of the cluster's KubeletConfiguration
// for [AgentConfig] and returns its path. change gets the decoded file.
func (c *Cluster) WriteKubeletConfig(name string, change func(config map[string]any)) (string, error) {
	data, err := os.ReadFile(c.KubeletConfig)
	if err != nil {
		return "", err
	}
	var config map[string]any
	if err := yaml.Unmarshal(data, &config); err != nil {
		return "", fmt.Errorf("%s: %w", c.KubeletConfig, err)
	}
	change(config)
	if data, err = yaml.Marshal(config); err != nil {
		return "", err
	}
	path := c.path("kubelet-" + name + ".yaml")
	return path, writeFile(path, data)
}

// ServingBootstrap changes a KubeletConfiguration so that the agent asks the
// cluster for its serving certificate; somebody must approve that: see
// [Cluster.ApproveServing].
func ServingBootstrap(config map[string]any) {
	delete(config, "tlsCertFile")
	delete(config, "tlsPrivateKeyFile")
	config["serverTLSBootstrap"] = true
}

// ApproveServing approves what nodes ask for their serving certificates, until
// ctx is done, whose error it returns. No controller of Kubernetes does that.
func (c *Cluster) ApproveServing(ctx context.Context) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	for {
		list, err := requests.List(ctx, metav1.ListOptions{FieldSelector: "spec.signerName=" + certificates.KubeletServingSignerName})
		if err == nil {
			for _, csr := range list.Items {
				if len(csr.Status.Conditions) > 0 {
					continue
				}
				csr.Status.Conditions = []certificates.CertificateSigningRequestCondition{{
					Type: certificates.CertificateApproved, Status: v1.ConditionTrue, Reason: "Lab", Message: "approved by the lab",
				}}
				// One that fails is tried again.
				_, _ = requests.UpdateApproval(ctx, csr.Name, &csr, metav1.UpdateOptions{})
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
