package objcache

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// disclose tells the vault what a pod may get to know of a Secret, before the pod does. Called with the lock held.
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

// discloseAll does so for all pods that refer to it. Called with the lock held.
func (c *Objects) discloseAll(it *item) {
	for uid := range it.users {
		c.disclose(it, uid)
	}
}
