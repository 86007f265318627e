"""hf-mem, whose address of the hub is in its code: python hfmem.py HUB hf-mem's arguments."""

import sys
from urllib.parse import urlsplit

import httpx2
from hf_mem.cli import main

hub = urlsplit(sys.argv.pop(1))
send = httpx2.AsyncHTTPTransport.handle_async_request


async def here(self, request):
    request.url = request.url.copy_with(scheme=hub.scheme, host=hub.hostname, port=hub.port)
    request.headers["Host"] = hub.netloc
    return await send(self, request)


httpx2.AsyncHTTPTransport.handle_async_request = here
sys.exit(main())
