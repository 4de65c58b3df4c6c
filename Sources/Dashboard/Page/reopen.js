// A tab whose page is reloaded asks for it without the token, which is no longer in its address: dashboard.js keeps it.
'use strict';
(() => {
  const token = sessionStorage.getItem('token');
  // Once only: a token of an earlier dashboard at this port is refused again.
  sessionStorage.removeItem('token');
  if (/^[0-9a-f]{64}$/.test(token ?? '')) location.replace(`/?token=${token}${location.hash}`);
})();
