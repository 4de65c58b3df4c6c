#pragma once

#include "Containers.h"

#include <QHash>
#include <QJsonArray>
#include <QJsonObject>
#include <QObject>
#include <QStringList>

class QProcess;

/// The states of the items in directories that the file manager shows, from a helper process, whose lines are described
/// in dewpoint_desktop/helper.py. For the main thread, which never waits here, but for a menu at most menuMilliseconds.
class Q_DECL_EXPORT ShownItems : public QObject
{
    Q_OBJECT

public:
    /// The one of this process, which lives as long as the application.
    static ShownItems *instance();

    /// The names of an item's emblems, at once; none while its state is not known, and elsewhere.
    QStringList emblems(const QString &path);

    bool isInContainer(const QString &path);

    /// What the menu offers for items, as the helper answers: objects with `label`, `tip`, and what `perform` takes.
    QJsonArray actions(const QStringList &paths);

    void perform(const QJsonObject &action, const QStringList &paths);

Q_SIGNALS:
    void changed(const QString &path, const QStringList &emblems);

private:
    explicit ShownItems(QObject *application);

    void start();
    void endHelper();
    void send(const QJsonObject &order);
    void readAnswers();
    void take(const QJsonObject &answer);
    void startAgainLater();
    void showAgain();
    QStringList emblemsOf(const QString &state) const;

    Containers m_containers;
    QProcess *m_helper = nullptr;
    /// By directory, the states of its items by name.
    QHash<QString, QHash<QString, QString>> m_known;
    /// The directories in the order in which they were first shown.
    QStringList m_order;
    QByteArray m_rest;
    int m_menu = 0;
    QJsonArray m_offered;
    int m_answeredMenu = 0;
    int m_pauseSeconds = 1;
    bool m_isWaiting = false;
};
