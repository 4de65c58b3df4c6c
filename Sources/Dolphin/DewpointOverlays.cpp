#include "ShownItems.h"

#include <KOverlayIconPlugin>
#include <QUrl>

/// Shows the states of items in containers as emblems.
class DewpointOverlays : public KOverlayIconPlugin
{
    Q_OBJECT
    Q_PLUGIN_METADATA(IID "org.dewpoint.KOverlayIconPlugin" FILE "DewpointOverlays.json")

public:
    DewpointOverlays()
    {
        connect(ShownItems::instance(), &ShownItems::changed, this, [this](const QString &path, const QStringList &emblems) {
            Q_EMIT overlaysChanged(QUrl::fromLocalFile(path), emblems);
        });
    }

    QStringList getOverlays(const QUrl &item) override
    {
        return item.isLocalFile() ? ShownItems::instance()->emblems(item.toLocalFile()) : QStringList();
    }
};

#include "DewpointOverlays.moc"
