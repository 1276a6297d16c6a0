// The same as session.hurl, in k6's words.
import http from 'k6/http';
import { check } from 'k6';

const base = __ENV.BASE;

export const options = { vus: Number(__ENV.USERS), duration: __ENV.TIME };

export default function () {
  const login = http.post(`${base}/login`, { user: 'ada', password: 'lovelace' });
  check(login, { 'logged in': (r) => r.status === 200 && r.json('user') === 'ada' });
  const headers = { Authorization: `Bearer ${login.json('token')}` };
  const items = http.get(`${base}/items`, { headers });
  check(items, { 'three items': (r) => r.status === 200 && r.json('items').length === 3 });
  const item = http.get(`${base}/items/2`, { headers });
  check(item, { 'the second': (r) => r.status === 200 && r.json('id') === 2 });
  const order = http.post(`${base}/orders`, '{"item": 2}', { headers });
  check(order, { 'ordered': (r) => r.status === 201 });
  const logout = http.post(`${base}/logout?order=${order.json('order')}`, null, { headers });
  check(logout, { 'logged out': (r) => r.status === 204 });
}
