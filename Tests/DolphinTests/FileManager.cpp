// What Dolphin does with the two plugins, without its windows: asks for the emblems of a file and follows them, opens the
// menu for it, and chooses an entry. For dolphin.py.
//
//   FileManager PLUGINS FILE EMBLEMS [ENTRY EMBLEMS]…
//
// EMBLEMS is a list with commas. Prints the entries of each menu, a line each. Ends with 1 when something is not so in time.

#include <KAbstractFileItemActionPlugin>
#include <KFileItem>
#include <KFileItemListProperties>
#include <KOverlayIconPlugin>
#include <KPluginFactory>
#include <QAction>
#include <QApplication>
#include <QElapsedTimer>
#include <QPluginLoader>
#include <QTextStream>
#include <QThread>
#include <QUrl>
#include <QWidget>

#include <algorithm>

/// What is promised is 2 s; a busy machine gets more.
static constexpr int followMilliseconds = 10000;
static constexpr int pollMilliseconds = 10;

static int fail(const QString &reason)
{
    QTextStream(stderr) << reason << '\n';
    return 1;
}

/// Waits until the file has these emblems, as it was told; the first ones are asked for.
static bool follow(KOverlayIconPlugin *plugin, const QUrl &file, const QString &expected, QString &seen)
{
    auto connection = QObject::connect(plugin, &KOverlayIconPlugin::overlaysChanged, plugin,
        [&](const QUrl &url, const QStringList &emblems) {
            if (url == file) {
                seen = emblems.join(QLatin1Char(','));
            }
        });
    seen = plugin->getOverlays(file).join(QLatin1Char(','));
    QElapsedTimer waited;
    waited.start();
    while (seen != expected && waited.elapsed() < followMilliseconds) {
        QCoreApplication::processEvents();
        QThread::msleep(pollMilliseconds);
    }
    QObject::disconnect(connection);
    return seen == expected && plugin->getOverlays(file).join(QLatin1Char(',')) == expected;
}

int main(int count, char **values)
{
    QApplication application(count, values);
    const QStringList arguments = application.arguments();
    if (arguments.size() < 4 || arguments.size() % 2 != 0) {
        return fail(QStringLiteral("usage: FileManager PLUGINS FILE EMBLEMS [ENTRY EMBLEMS]..."));
    }
    const QString plugins = arguments[1];
    const QUrl file = QUrl::fromLocalFile(arguments[2]);

    QPluginLoader loader(plugins + QStringLiteral("/kf5/overlayicon/DewpointOverlays.so"));
    auto *overlays = qobject_cast<KOverlayIconPlugin *>(loader.instance());
    if (!overlays) {
        return fail(loader.errorString());
    }
    const auto menu = KPluginFactory::instantiatePlugin<KAbstractFileItemActionPlugin>(
        KPluginMetaData(plugins + QStringLiteral("/kf5/kfileitemaction/DewpointMenu.so")), &application);
    if (!menu) {
        return fail(menu.errorText);
    }
    if (!overlays->getOverlays(QUrl::fromLocalFile(QStringLiteral("/etc/passwd"))).isEmpty()) {
        return fail(QStringLiteral("a file outside containers has emblems"));
    }
    QWidget window;
    QTextStream output(stdout);
    for (int index = 3; index < arguments.size(); index += 2) {
        QString seen;
        if (!follow(overlays, file, arguments[index], seen)) {
            return fail(QStringLiteral("the emblems are %1, not %2").arg(seen, arguments[index]));
        }
        const KFileItemListProperties selection(KFileItemList{KFileItem(file)});
        const QList<QAction *> entries = menu.plugin->actions(selection, &window);
        for (const QAction *entry : entries) {
            output << entry->text() << '\n';
        }
        output << Qt::endl;
        if (index + 1 == arguments.size()) {
            break;
        }
        auto chosen = std::find_if(entries.begin(), entries.end(),
            [&](const QAction *entry) { return entry->text() == arguments[index + 1]; });
        if (chosen == entries.end()) {
            return fail(QStringLiteral("the menu has no entry %1").arg(arguments[index + 1]));
        }
        (*chosen)->trigger();
    }
    return 0;
}
