package objcache

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// disclose adds to the vault what a pod may get from a Secret, before the pod gets it. Called with mu.
func (c *Objects) disclose(it *item, uid types.UID) {
	s, ok := it.obj.(*v1.Secret)
	if !ok || c.cfg.Secrets == nil {
		return
	}
	values := make([]string, 0, len(s.Data))
	for _, v := range s.Data {
		values = append(values, string(v))
	}
	c.cfg.Secrets.Learn(string(uid), it.key.String(), values...)
}

// discloseAll calls disclose for all pods that refer to the Secret. Called with mu.
func (c *Objects) discloseAll(it *item) {
	for uid := range it.users {
		c.disclose(it, uid)
	}
}
