#include "ShownItems.h"

#include <KAbstractFileItemActionPlugin>
#include <KFileItemListProperties>
#include <KPluginFactory>
#include <QAction>
#include <QUrl>

/// The entries for items of containers in the context menu.
class DewpointMenu : public KAbstractFileItemActionPlugin
{
    Q_OBJECT

public:
    DewpointMenu(QObject *parent, const QVariantList &)
        : KAbstractFileItemActionPlugin(parent)
    {
    }

    QList<QAction *> actions(const KFileItemListProperties &selection, QWidget *window) override
    {
        ShownItems *items = ShownItems::instance();
        QStringList paths;
        const QList<QUrl> urls = selection.urlList();
        for (const QUrl &url : urls) {
            if (!url.isLocalFile() || !items->isInContainer(url.toLocalFile())) {
                return {};
            }
            paths.append(url.toLocalFile());
        }
        QList<QAction *> actions;
        const QJsonArray offered = items->actions(paths);
        for (const QJsonValue &value : offered) {
            const QJsonObject entry = value.toObject();
            // GTK marks the letter of the keyboard by `_`, Qt by `&`.
            QString label = entry.value(QLatin1String("label")).toString();
            auto *action = new QAction(label.replace(QLatin1Char('_'), QLatin1Char('&')), window);
            action->setToolTip(entry.value(QLatin1String("tip")).toString());
            const QJsonObject order = entry.value(QLatin1String("order")).toObject();
            connect(action, &QAction::triggered, items, [items, order, paths] { items->perform(order, paths); });
            actions.append(action);
        }
        return actions;
    }
};

K_PLUGIN_CLASS_WITH_JSON(DewpointMenu, "DewpointMenu.json")

#include "DewpointMenu.moc"
