"""Downloads one source distribution, and builds nothing: sdist.py FOLDER NAME VERSION."""
import pathlib
import sys

from pip._internal.index.collector import LinkCollector
from pip._internal.index.package_finder import PackageFinder
from pip._internal.models.search_scope import SearchScope
from pip._internal.models.selection_prefs import SelectionPreferences
from pip._internal.network.session import PipSession

folder, name, version = sys.argv[1:]
session = PipSession()
finder = PackageFinder.create(link_collector=LinkCollector(session, SearchScope.create([], ["https://pypi.org/simple"], False)),
                              selection_prefs=SelectionPreferences(allow_yanked=False))
link = next(c.link for c in finder.find_all_candidates(name) if str(c.version) == version and c.link.filename.endswith(".tar.gz"))
answer = session.get(link.url_without_fragment)
answer.raise_for_status()
pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
pathlib.Path(folder, link.filename).write_bytes(answer.content)
